"""Custom agent of a conversation, and of a turn when it started."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running."""
    for table in ("conversations", "turns"):
        op.add_column(table, sa.Column("agent", sa.String(), server_default="", nullable=False))
