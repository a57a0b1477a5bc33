"""Tasks on external agents over the Agent Client Protocol (ACP)."""
