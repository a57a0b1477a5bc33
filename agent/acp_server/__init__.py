"""The lead agent as an agent of the Agent Client Protocol."""
