"""Filtering HTTP proxy, the only way from a sandbox to the network."""
