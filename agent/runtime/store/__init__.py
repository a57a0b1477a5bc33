"""The runtime's own database: threads, runs, assistants and event logs in `agent.db`, and store items."""
