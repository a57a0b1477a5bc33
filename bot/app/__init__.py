"""Composition root and service process: data directory, logs, accounts and HTTP server."""
