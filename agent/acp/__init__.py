"""The Agent Client Protocol, both ways: other agents do tasks for ours, and ours is such an agent itself."""
