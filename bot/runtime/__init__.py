"""The one way to the agent: a small port over `langgraph-sdk`, and the child process behind it."""
