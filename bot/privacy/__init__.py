"""Forgetting: what is too old, and what is kept about a person who asks for it."""
