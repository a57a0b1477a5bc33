"""Choices of a reply part, shown as buttons."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column (JSON list of texts, "" for none)."""
    op.add_column("parts", sa.Column("choices", sa.String(), server_default="", nullable=False))
