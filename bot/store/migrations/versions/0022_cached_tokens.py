"""Cached tokens and the cost of a turn."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

COUNTS = ("input_tokens", "output_tokens", "total_tokens")
ADDED = ("cached_tokens", "cost", "currency")
SPENT = sa.text("total_tokens > 0")


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running.

    The index covers all columns that a sum of the usage reads.
    """
    number = sa.Column("cached_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    op.add_column("turns", number)
    op.add_column("turns", sa.Column("cost", sa.Float(), server_default=sa.text("0"), nullable=False))
    op.add_column("turns", sa.Column("currency", sa.String(), server_default="", nullable=False))
    op.drop_index("turns_spent", "turns")
    columns = ["created_at", "person", *COUNTS, *ADDED]
    op.create_index("turns_spent", "turns", columns, sqlite_where=SPENT, postgresql_where=SPENT)
