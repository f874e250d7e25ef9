"""What both sides of the process boundary speak: records and vocabulary.

It imports the standard library alone: a report opens without torch, and a rig runs in a bare
environment.
"""
