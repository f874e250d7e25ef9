"""The processes that run cells, and what they say."""
