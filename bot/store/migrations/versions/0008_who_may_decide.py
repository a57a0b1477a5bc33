"""Requesters of an interrupt, and the answers that decide an approval."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running. They hold
    JSON lists, or "" if anybody may answer.
    """
    for column in ("askers", "decisions"):
        op.add_column("conversations", sa.Column(column, sa.String(), server_default="", nullable=False))
