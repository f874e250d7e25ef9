"""One run, from its options to its verdict."""
