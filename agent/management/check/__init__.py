"""Configuration check before use: models, tools, guardrail, sandbox and custom agents."""
