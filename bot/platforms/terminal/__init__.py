"""The terminal as a platform: `roebot chat`."""
