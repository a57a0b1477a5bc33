"""Feishu and Lark: one adapter for both, on the service's own loop."""
