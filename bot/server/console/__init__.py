"""Web console: an ordinary client of the public API, served without a build step."""
