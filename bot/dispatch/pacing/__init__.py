"""Rate limits, start limits and backoff for calls to platforms."""
