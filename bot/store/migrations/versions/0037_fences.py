"""Leases of replicas, with fences."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Add the columns; a process of the previous version can keep running."""
    for name in ("fence", "about"):
        op.add_column("leases", sa.Column(name, sa.String(), server_default="", nullable=False))
