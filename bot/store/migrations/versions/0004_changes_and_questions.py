"""Edits and deletions by people, and the open question of a conversation."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
HAS_TURN = sa.text("turn_id > 0")
UNTOLD = sa.text("turn_id = 0")


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running."""
    op.add_column("inbound", sa.Column("deleted", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("inbound", sa.Column("changed_at", sa.Float(), server_default=sa.text("0"), nullable=False))
    op.add_column("turns", sa.Column("answers", sa.String(), server_default="", nullable=False))
    op.add_column("conversations", sa.Column("question", sa.String(), server_default="", nullable=False))
    op.add_column("conversations", sa.Column("asked_by", ID, server_default=sa.text("0"), nullable=False))
    op.create_index(
        "inbound_of_message",
        "inbound",
        ["account", "message_id"],
        sqlite_where=HAS_TURN,
        postgresql_where=HAS_TURN,
    )
    changes()


def changes() -> None:
    op.create_table(
        "changes",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("inbound_id", ID, nullable=False),
        sa.Column("conversation_id", ID, nullable=False),
        sa.Column("thread_id", sa.String(), server_default="", nullable=False),
        sa.Column("old_text", sa.Text(), server_default="", nullable=False),
        sa.Column("new_text", sa.Text(), server_default="", nullable=False),
        sa.Column("deleted", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("turn_id", ID, server_default=sa.text("0"), nullable=False),
        sa.Column("changed_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account", "event_id"),
    )
    op.create_index(
        "changes_untold", "changes", ["conversation_id"], sqlite_where=UNTOLD, postgresql_where=UNTOLD
    )
    op.create_index(
        "changes_of_turn", "changes", ["turn_id"], sqlite_where=HAS_TURN, postgresql_where=HAS_TURN
    )
    op.create_index("changes_of_message", "changes", ["inbound_id"])
