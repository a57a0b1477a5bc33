"""The middleware of the agent, one class a module; see `agent.assembly` for their order."""
