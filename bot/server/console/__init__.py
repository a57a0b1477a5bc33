"""The web page: an ordinary client of the public API, served as it is written."""
