"""Agent threads that replace others when a person is erased."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Add the columns; a process of the previous version can keep running."""
    for table, name in (("turns", "renewed"), ("erasures", "collected")):
        op.add_column(table, sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False))
    for table, name in (("leaving_threads", "successor"), ("erasures", "chats")):
        op.add_column(table, sa.Column(name, sa.String(), server_default="", nullable=False))
