"""Token usage of a turn, and the person it counts for."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

COUNTS = ("input_tokens", "output_tokens", "total_tokens")
INDEXES = (
    ("turns_of_person", ["person", "created_at"]),
    ("turns_spent", ["created_at", "person", *COUNTS]),
)
SPENT = sa.text("total_tokens > 0")


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running."""
    op.add_column("turns", sa.Column("person", sa.String(), server_default="", nullable=False))
    for count in COUNTS:
        op.add_column("turns", sa.Column(count, sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    for name, columns in INDEXES:
        op.create_index(name, "turns", columns, sqlite_where=SPENT, postgresql_where=SPENT)
