"""Skills: folders with a `SKILL.md` that tells the agent how to do a kind of work."""
