"""Handmade splits that a search drew from motifs, and how a counterexample is made smaller."""
