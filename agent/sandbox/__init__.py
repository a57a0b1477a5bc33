"""Where an agent's commands run."""
