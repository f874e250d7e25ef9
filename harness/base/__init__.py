"""Helpers that know nothing of the domain; they import the standard library alone."""
