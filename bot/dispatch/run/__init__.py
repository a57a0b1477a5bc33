"""One run of the agent for a turn."""
