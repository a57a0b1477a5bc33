"""Schedules: parse their times, and open a turn for each run."""
