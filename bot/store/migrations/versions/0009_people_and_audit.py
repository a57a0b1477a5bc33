"""Granted roles, pairing codes, the audit log, and the busy mode of a conversation."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables, a conversation's busy mode ("": the account's), and the time of its open question."""
    op.create_table(
        "roles",
        sa.Column("entry", sa.String(), primary_key=True),
        sa.Column("role", sa.String(), nullable=False),
        _text("name"),
        _text("given_by"),
        _time("given_at"),
    )
    op.create_table(
        "pairings",
        sa.Column("code", sa.String(), primary_key=True),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        _text("name"),
        _time("expires_at"),
        sa.Column("conversation_id", Id, server_default=sa.text("0"), nullable=False),
        _text("address"),
        sa.UniqueConstraint("account", "person"),
    )
    op.create_table(
        "audit",
        sa.Column("id", Id, primary_key=True, autoincrement=True),
        sa.Column("key", sa.String(), nullable=False, unique=True),
        _time("at"),
        *map(_text, ("person", "name", "account", "chat", "action")),
        *(sa.Column(name, sa.Text(), server_default="", nullable=False) for name in ("subject", "detail")),
    )
    op.add_column("conversations", _text("busy"))
    op.add_column("conversations", _time("asked_at"))
    undecided = sa.text("question <> '' AND decisions <> ''")
    op.create_index(
        "approvals_open",
        "conversations",
        ["asked_at"],
        sqlite_where=undecided,
        postgresql_where=undecided,
    )
    op.create_index("audit_of_person", "audit", ["person", "action", "at"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(), server_default="", nullable=False)


def _time(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Float(), server_default=sa.text("0"), nullable=False)
