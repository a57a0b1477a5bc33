"""What a configuration names, tried before a chat needs it: models, tools, guardrail, agents of one's own."""
