"""A run on disk: plan, journal, folder, provenance."""
