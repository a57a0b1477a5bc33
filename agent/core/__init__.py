"""State, context and helpers for all packages of the agent."""
