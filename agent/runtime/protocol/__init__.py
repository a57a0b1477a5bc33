"""Thread protocol: commands to a thread, and one numbered stream of the events of its runs."""
