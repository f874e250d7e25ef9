"""Campaigns: programs that nobody wrote, drawn, judged, shrunk and kept."""
