"""Which inliner is judged, and where it runs."""
