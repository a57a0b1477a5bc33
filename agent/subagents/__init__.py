"""Agents that the lead agent hands work to."""
