"""Management of a data directory: routes, configuration checks and thread files."""
