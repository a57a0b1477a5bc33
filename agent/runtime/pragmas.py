"""How every connection of the runtime uses SQLite."""

PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000", "cache_size=-256")
"""A page cache of 256 KiB for each connection: the pages that matter are in the system's own cache, and the
2 MB that SQLite takes by default are held for good.
"""
