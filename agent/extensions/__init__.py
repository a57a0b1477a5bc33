"""`extensions_config.json`: read when it changes, written by the management methods."""
