"""Skills: folders with instructions, and optionally scripts, for one kind of work."""
