"""Reads and checks the register of defects and the table of expected findings."""
