"""Which releases exist, and how they differ."""
