"""Checks of a configuration before a chat needs it: models, tools, guardrail, sandbox and custom agents."""
