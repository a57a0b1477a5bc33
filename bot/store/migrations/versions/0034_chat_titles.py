"""Names of groups."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Add the column with a default, so that a process of the previous version can keep running."""
    op.add_column("chats", sa.Column("title", sa.String(), server_default="", nullable=False))
