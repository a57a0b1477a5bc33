"""State, context and helpers that every package of the agent may use."""
