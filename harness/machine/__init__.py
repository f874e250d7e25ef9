"""This computer: its GPU, its driver, its pip."""
