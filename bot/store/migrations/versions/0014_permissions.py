"""Tool grants: tools that no longer ask for approval."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the table, and the grant that an open approval offers."""
    op.add_column("conversations", sa.Column("remembered", sa.String(), server_default="", nullable=False))
    op.create_table(
        "permissions",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
        ),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        *(sa.Column(name, sa.String(), server_default="", nullable=False) for name in ("person", "name")),
        sa.Column("given_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.UniqueConstraint("account", "conversation_id", "tool"),
    )
