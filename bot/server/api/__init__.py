"""The management API, the page and the way through to the agent runtime: one public port."""
