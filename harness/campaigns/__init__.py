"""Whole runs held against each other."""
