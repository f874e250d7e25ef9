"""Latency: what is measured against what, when to stop, and what the samples say."""
