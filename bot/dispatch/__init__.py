"""Execution of accepted turns: from the conversation to the agent's run, and from the run to the reply."""
