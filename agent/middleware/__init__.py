"""The agent's middleware, one class per module; `agent.harness.assembly` lists their order."""
