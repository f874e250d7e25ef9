"""Worker processes: started, watched, replaced when they die, and fed one case at a time."""
