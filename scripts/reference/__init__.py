"""Generators of the reference pages; each reads the code that its page describes."""
