"""Scripts that show a failure with torch and a wheel alone."""
