"""Clients that others wrote, against the agent runtime. `python -m tests.clients` runs all of them."""
