"""Third-party clients, run against the agent runtime. `python -m tests.clients` runs all of them."""
