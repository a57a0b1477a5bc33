"""Which agent of one's own a conversation has chosen, and with which a turn was begun."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the version before goes on meanwhile."""
    for table in ("conversations", "turns"):
        op.add_column(table, sa.Column("agent", sa.String(), server_default="", nullable=False))
