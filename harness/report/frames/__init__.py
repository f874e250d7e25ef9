"""A run as typed frames, and what is counted in them."""
