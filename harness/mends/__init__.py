"""Mends: for a defect of Torch-TensorRT's own Python, a small change of the release's file."""
