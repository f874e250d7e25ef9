"""The corpus held against its lock and its space."""
