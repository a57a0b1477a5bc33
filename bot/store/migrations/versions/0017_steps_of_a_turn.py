"""The tools that the run of a turn called."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column with a default, so that a process of the version before goes on meanwhile."""
    op.add_column("turns", sa.Column("steps", sa.String(), server_default="", nullable=False))
