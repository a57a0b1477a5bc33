"""Hash chain over the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the chain's columns, and its anchor; stored events are sealed after the start of the service."""
    op.add_column(
        "audit", sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.add_column("audit", sa.Column("seal", sa.String(), server_default="", nullable=False))
    op.add_column("audit", sa.Column("commitments", sa.Text(), server_default="", nullable=False))
    op.create_index("audit_in_order", "audit", ["position", "id"])
    op.create_table(
        "audit_anchor",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("seal", sa.String(), server_default="", nullable=False),
        sa.Column("mac", sa.String(), server_default="", nullable=False),
    )
