"""The composition root and what the process around it needs."""
