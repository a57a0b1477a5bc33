"""Model, usage by model and trace of a turn."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"

COUNTS = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens")


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running."""
    op.add_column("turns", sa.Column("used_model", sa.String(), server_default="", nullable=False))
    op.add_column("turns", sa.Column("trace", sa.Text(), server_default="", nullable=False))
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    zero = sa.text("0")
    op.create_table(
        "model_usage",
        sa.Column("turn_id", whole, sa.ForeignKey("turns.id"), primary_key=True, autoincrement=False),
        sa.Column("model", sa.String(), primary_key=True),
        *(sa.Column(name, sa.BigInteger(), server_default=zero, nullable=False) for name in COUNTS),
        sa.Column("cost", sa.Float(), server_default=zero, nullable=False),
    )
