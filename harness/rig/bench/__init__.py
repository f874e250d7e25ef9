"""What runs in the processes that are measured."""
