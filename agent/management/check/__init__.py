"""Check a configuration before it is used: models, tools, guardrail, sandbox and custom agents."""
