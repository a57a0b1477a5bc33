"""Storage of the bot: one schema on SQLite or PostgreSQL, one module for each aggregate.

SQL is only here and in the stores of features, as named statements that both databases understand, so that
the cost of a turn can be read and counted. A transaction is a function of a unique name, which callers pass
to `Database.transact`, so a search finds it with all its callers. Work of several transactions
(`erase_person`) takes the database itself. Nothing but the contract suite, which runs every statement on
both databases, detects a renamed column.
"""

from bot.store.database import Database, open_database

__all__ = ["Database", "open_database"]
