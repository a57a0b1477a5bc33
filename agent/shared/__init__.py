"""Code that both the bot and the agent use; it imports nothing of either."""
