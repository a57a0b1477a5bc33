"""API tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
TEXTS, TIMES = ("given_by",), ("given_at", "expires_at", "used_at")


def upgrade() -> None:
    """Add the table; a process of the previous version can keep running."""
    op.create_table(
        "api_tokens",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("hash", sa.String(), nullable=False, unique=True),
        sa.Column("scope", sa.String(), nullable=False),
        *(sa.Column(name, sa.String(), server_default="", nullable=False) for name in TEXTS),
        *(sa.Column(name, sa.Float(), server_default=sa.text("0"), nullable=False) for name in TIMES),
    )
