"""Schedules: when they are due, and the loop that opens a turn for each firing."""
