"""The package lane: one release's real `torch_tensorrt`, as its users call it."""
