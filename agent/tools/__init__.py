"""The tools that an agent gets: from the configuration now, from servers and the agent's own hands later."""
