"""First schema, spelled out so that later changes to the tables do not alter it."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create all tables."""
    accounts()
    conversations()
    turns()
    inbound()
    parts()
    known_messages()
    notices()
    counters()


def accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("cursor", sa.String(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("account"),
    )


def conversations() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("chat", sa.String(), nullable=False),
        sa.Column("topic", sa.String(), server_default="", nullable=False),
        sa.Column("member", sa.String(), server_default="", nullable=False),
        sa.Column("platform", sa.String(), server_default="", nullable=False),
        sa.Column("chat_kind", sa.String(), server_default="", nullable=False),
        sa.Column("thread_id", sa.String(), server_default="", nullable=False),
        sa.Column("model", sa.String(), server_default="", nullable=False),
        sa.Column("title", sa.String(), server_default="", nullable=False),
        sa.Column("created_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("active_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account", "chat", "topic", "member"),
    )
    op.create_index("conversations_recent", "conversations", ["account", "chat", "active_at"], unique=False)


def turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("conversation_id", ID, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("platform", sa.String(), server_default="", nullable=False),
        sa.Column("thread_id", sa.String(), server_default="", nullable=False),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("run_id", sa.String(), server_default="", nullable=False),
        sa.Column("checkpoint", sa.String(), server_default="", nullable=False),
        sa.Column("model", sa.String(), server_default="", nullable=False),
        sa.Column("repeats", ID, server_default=sa.text("0"), nullable=False),
        sa.Column("replaced", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("stopped", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("size", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.String(), server_default="", nullable=False),
        sa.Column("ready_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("finished_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("turns_of_conversation", "turns", ["conversation_id", "id"], unique=False)
    op.create_index(
        "turns_open",
        "turns",
        ["conversation_id", "id"],
        unique=False,
        sqlite_where=sa.text("state IN ('accepted', 'running', 'waiting', 'delivering')"),
        postgresql_where=sa.text("state IN ('accepted', 'running', 'waiting', 'delivering')"),
    )


def inbound() -> None:
    op.create_table(
        "inbound",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("turn_id", ID, server_default=sa.text("0"), nullable=False),
        sa.Column("message_id", sa.String(), server_default="", nullable=False),
        sa.Column("sender", sa.String(), server_default="", nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("attachments", sa.String(), server_default="", nullable=False),
        sa.Column("group_key", sa.String(), server_default="", nullable=False),
        sa.Column("sent_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("accepted_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account", "event_id"),
    )
    op.create_index("inbound_of_turn", "inbound", ["turn_id"], unique=False)


def parts() -> None:
    op.create_table(
        "parts",
        sa.Column("turn_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), server_default="", nullable=False),
        sa.Column("filename", sa.String(), server_default="", nullable=False),
        sa.Column("platform_id", sa.String(), server_default="", nullable=False),
        sa.Column("repeated", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("category", sa.String(), server_default="", nullable=False),
        sa.Column("updated_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"],
            ["turns.id"],
        ),
        sa.PrimaryKeyConstraint("turn_id", "position"),
    )


def known_messages() -> None:
    op.create_table(
        "known_messages",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("chat", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("conversation_id", ID, nullable=False),
        sa.Column("seen_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("account", "chat", "message_id"),
        sqlite_with_rowid=False,
    )


def notices() -> None:
    op.create_table(
        "notices",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("told_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("account", "person", "kind"),
    )


def counters() -> None:
    op.create_table(
        "counters",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("account", "name"),
    )
