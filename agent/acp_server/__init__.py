"""Serve our agent to clients of the Agent Client Protocol (ACP), such as editors."""
