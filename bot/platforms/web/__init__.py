"""The web console as a platform."""
