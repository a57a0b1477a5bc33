"""Subagents, to which the lead agent delegates tasks."""
