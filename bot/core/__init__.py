"""Helpers without I/O, for any package of the bot."""
