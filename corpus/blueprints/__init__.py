"""Handmade splits as plain data: what a blueprint says, and how it becomes a case."""
