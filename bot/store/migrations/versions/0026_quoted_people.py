"""Whose exchanges with the agent were quoted at the beginning of a conversation."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the column with a default, so that a process of the previous version can keep running. It quoted
    people only in their own conversations.
    """
    column = sa.Column("quoted_people", sa.String(), server_default="", nullable=False)
    op.add_column("conversations", column)
