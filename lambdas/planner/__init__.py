"""Reads calendars, plans work ahead of its deadlines, and lets it begin in time."""
