"""Helpers without I/O that any package of the bot may use."""
