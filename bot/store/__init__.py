"""What the bot remembers: one schema, one set of statements, SQLite or PostgreSQL below."""

from bot.store.database import Database, open_database
from bot.store.store import BotStore

__all__ = ["BotStore", "Database", "open_database"]
