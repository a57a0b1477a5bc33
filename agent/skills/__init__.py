"""Skills: folders with instructions, and maybe scripts, for one kind of work."""
