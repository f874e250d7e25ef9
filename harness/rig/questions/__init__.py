"""What the controller asks the rig: one JSON request, one answer."""
