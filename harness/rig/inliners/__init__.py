"""Inliners: the protocol, the loader of released ones, and the two built in."""
