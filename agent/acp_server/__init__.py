"""Server for clients of the Agent Client Protocol (ACP), such as editors."""
