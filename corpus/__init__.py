"""What is tried: models, their inputs, and the ops that fall back. Knows nothing of inliners."""
