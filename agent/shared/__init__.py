"""Code shared by the bot and the agent; it imports neither."""
