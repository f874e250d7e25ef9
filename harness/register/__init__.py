"""The register of defects and the table of expected findings."""
