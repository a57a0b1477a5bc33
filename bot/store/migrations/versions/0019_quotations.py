"""Quotations in messages and in the chat record."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the columns with a default, so that a process of the previous version can keep running."""
    for table in ("inbound", "record"):
        op.add_column(table, sa.Column("quotations", sa.Text(), server_default="", nullable=False))
