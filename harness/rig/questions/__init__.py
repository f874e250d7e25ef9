"""What the controller asks the rig: one JSON request, and JSON answers, a line each."""


class CannotAnswer(Exception):
    """The request asks for what is not there, or for what cannot be had: what, and what to do."""
