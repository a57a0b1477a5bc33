"""The middleware of the agent, one class a module; see `agent.harness.assembly` for their order."""
