"""Oldest code that can use the schema."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
requires = None


def upgrade() -> None:
    """Add the column to Alembic's own table."""
    column = sa.Column("oldest", sa.String(32), server_default="", nullable=False)
    op.add_column("alembic_version", column)
