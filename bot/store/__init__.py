"""What the bot remembers: one schema, one set of statements, SQLite or PostgreSQL below."""

from bot.store.database import Database, open_database

__all__ = ["Database", "open_database"]
