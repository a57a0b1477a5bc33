"""The agent harness and its runtime."""
