"""Storage of the bot: one schema on SQLite or PostgreSQL, one module for each aggregate."""

from bot.store.database import Database, open_database

__all__ = ["Database", "open_database"]
