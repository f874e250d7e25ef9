"""What was expected, what happened, and the verdict."""
