"""Keeping a home: an archive of it, and a home from an archive."""
