"""The harness: the controller. Never imports torch; what does lives in `harness.rig`."""
