"""Recorded messages of chats."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the record, and the number of days that a chat's messages are recorded (0: not recorded)."""
    op.add_column(
        "chats", sa.Column("record_days", sa.Integer(), server_default=sa.text("0"), nullable=False)
    )
    op.add_column(
        "chats", sa.Column("recorded_since", sa.Float(), server_default=sa.text("0"), nullable=False)
    )
    op.create_table(
        "record",
        sa.Column("id", Id, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("account", "chat")),
        sa.Column("topic", sa.String(), server_default="", nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("sender", sa.String(), server_default="", nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("sent_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("link", sa.String(), server_default="", nullable=False),
        sa.UniqueConstraint("account", "chat", "message_id"),
    )
    op.create_index("record_in_time", "record", ["account", "chat", "sent_at"])
