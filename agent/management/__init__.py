"""Management of a data directory: routes, configuration checks and files of threads."""
