"""The web page as a platform."""
