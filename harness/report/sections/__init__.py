"""What each section of the report shows, built from frames."""
