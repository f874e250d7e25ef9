"""Handmade splits that a search drew from motifs."""
