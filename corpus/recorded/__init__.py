"""Splits as a release made them: written down as plain data, read back, and built again."""
