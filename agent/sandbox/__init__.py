"""Sandboxes in which agents run commands."""
