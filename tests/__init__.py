"""The harness's own tests: they mirror corpus/ and harness/, module by module."""
