"""Threads to be deleted on the runtime, and the last turn of each account whose texts were deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "leaving_threads",
        sa.Column("thread_id", sa.String(), primary_key=True),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.Float(), server_default=sa.text("0"), nullable=False),
    )
    op.create_table(
        "forgotten",
        sa.Column("account", sa.String(), primary_key=True),
        sa.Column("turn_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
    )
