"""Back up the data directory to an archive, and restore it."""
