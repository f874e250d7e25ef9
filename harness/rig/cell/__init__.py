"""One cell: prepared, sent through its stages, judged."""
