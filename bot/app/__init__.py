"""Composition root, and the process around it: data directory, logs, accounts and HTTP server."""
