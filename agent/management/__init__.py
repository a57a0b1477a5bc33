"""Management of a home: routes, checks and files of threads."""
