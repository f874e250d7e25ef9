"""From a case to its captured program and its split module."""
