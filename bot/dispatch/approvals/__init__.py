"""Questions and approvals of the agent in a chat."""
