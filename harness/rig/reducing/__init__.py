"""Reduces a model that fails to a small one that fails in the same way."""
