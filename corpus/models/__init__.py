"""Real architectures at small size. At import: torch and the standard library only."""
