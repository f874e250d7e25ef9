"""Programs saved by one release and loaded by another."""
