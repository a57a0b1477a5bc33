"""MCP servers: their tools for the agent, over sessions that stay open between calls."""
