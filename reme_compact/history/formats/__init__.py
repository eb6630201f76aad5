"""Histories as other frameworks and providers write them, read into one structure and written back unchanged."""
