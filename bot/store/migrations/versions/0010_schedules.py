"""Schedules, their runs, and settings of chats."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "schedules",
        sa.Column("id", Id, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("kind", "state")),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        *map(_text, ("spoken", "rule", "zone")),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("account", "platform", "chat", "chat_kind")
        ),
        _text("topic"),
        _id("conversation_id"),
        _id("made_in"),
        *map(_text, ("maker", "person")),
        *map(_time, ("made_at", "next_at")),
        *map(_int, ("failures", "alerted")),
    )
    active = sa.text("state = 'active'")
    op.create_index("schedules_due", "schedules", ["next_at"], sqlite_where=active, postgresql_where=active)
    op.create_index("schedules_of_chat", "schedules", ["account", "chat"])
    op.create_table(
        "firings",
        sa.Column("id", Id, primary_key=True, autoincrement=True),
        sa.Column("schedule_id", Id, nullable=False),
        *map(_time, ("due_at", "at")),
        *map(_int, ("attempt", "missed")),
        _text("skipped"),
        _time("retry_at"),
        _id("turn_id"),
        _int("judged"),
        sa.UniqueConstraint("schedule_id", "due_at"),
    )
    for name, columns, where in (
        ("firings_open", ["turn_id"], "judged = 0 AND turn_id > 0"),
        ("firings_again", ["retry_at"], "retry_at > 0"),
    ):
        given = sa.text(where)
        op.create_index(name, "firings", columns, sqlite_where=given, postgresql_where=given)
    op.create_table(
        "chats",
        sa.Column("account", sa.String(), primary_key=True),
        sa.Column("chat", sa.String(), primary_key=True),
        _text("zone"),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(), server_default="", nullable=False)


def _time(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Float(), server_default=sa.text("0"), nullable=False)


def _int(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False)


def _id(name: str) -> sa.Column[int]:
    return sa.Column(name, Id, server_default=sa.text("0"), nullable=False)
