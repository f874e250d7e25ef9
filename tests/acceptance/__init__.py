"""Printed commands as they are pasted, and whole runs held against each other."""
