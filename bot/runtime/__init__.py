"""The agent runtime: a small port over `langgraph-sdk`, and the child process behind it."""
