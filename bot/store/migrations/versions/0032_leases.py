"""Leases of services on their database."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Add the table; a process of the previous version can keep running."""
    op.create_table(
        "leases",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("holder", sa.String(), server_default="", nullable=False),
        sa.Column("place", sa.String(), server_default="", nullable=False),
        sa.Column("renewed_at", sa.Float(), server_default=sa.text("0"), nullable=False),
    )
