"""Budgets and message counters."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "budgets",
        sa.Column("entry", sa.String(), primary_key=True),
        *(
            sa.Column(name, sa.BigInteger(), server_default=sa.text("-1"), nullable=False)
            for name in ("messages", "tokens")
        ),
        sa.Column("given_by", sa.String(), server_default="", nullable=False),
        sa.Column("given_at", sa.Float(), server_default=sa.text("0"), nullable=False),
    )
    op.create_table(
        "meters",
        sa.Column("scope", sa.String(), primary_key=True),
        sa.Column("start", sa.Float(), primary_key=True),
        sa.Column("value", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
    )
