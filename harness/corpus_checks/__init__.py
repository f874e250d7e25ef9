"""Checks the corpus against its lock and its space."""
