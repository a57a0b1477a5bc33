"""Plan mode of a conversation, and of a turn when it started."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running."""
    for table in ("conversations", "turns"):
        op.add_column(table, sa.Column("plan", sa.Integer(), server_default=sa.text("0"), nullable=False))
