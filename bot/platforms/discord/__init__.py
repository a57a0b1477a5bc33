"""Discord, by its gateway."""
