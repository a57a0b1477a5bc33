"""Read `config.yaml`: the reader shared by bot and agent, and the sections of the agent."""
