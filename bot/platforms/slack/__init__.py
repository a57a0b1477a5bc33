"""Slack: Socket Mode or signed requests in, native streams out."""
