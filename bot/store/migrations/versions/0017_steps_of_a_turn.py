"""Tool calls of a turn's run."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column with a default, so that a process of the previous version can keep running."""
    op.add_column("turns", sa.Column("steps", sa.String(), server_default="", nullable=False))
