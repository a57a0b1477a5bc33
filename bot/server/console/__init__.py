"""Web console: a regular client of the public API, served without a build step."""
