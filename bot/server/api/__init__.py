"""The management API, the web console and the agent runtime proxy, on one public port."""
