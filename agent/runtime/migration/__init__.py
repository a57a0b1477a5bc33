"""Copies of the runtime's data between SQLite and PostgreSQL."""
