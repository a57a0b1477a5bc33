"""Owners of private conversations, and sign-in codes and sessions of the web console."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

WRITERS = sa.text(
    "SELECT c.id, c.platform, (SELECT i.sender FROM inbound i JOIN turns t ON t.id = i.turn_id"
    " WHERE t.conversation_id = c.id AND i.turn_id > 0 AND i.deleted = 0 ORDER BY i.id DESC LIMIT 1)"
    " AS sender FROM conversations c WHERE c.chat_kind = 'private'"
)


def upgrade() -> None:
    """Add the tables and the column, and set the owner of existing private conversations."""
    op.add_column("conversations", sa.Column("owner", sa.String(), server_default="", nullable=False))
    op.create_index("conversations_owned", "conversations", ["owner", "id"])
    op.create_table(
        "page_codes",
        *(sa.Column(name, sa.String(), primary_key=True) for name in ("person", "account")),
        sa.Column("hash", sa.String(), nullable=False, unique=True),
        *(sa.Column(name, sa.String(), server_default="", nullable=False) for name in ("sender", "chat")),
        sa.Column("expires_at", sa.Float(), server_default=sa.text("0"), nullable=False),
    )
    op.create_table(
        "page_sessions",
        sa.Column("hash", sa.String(), primary_key=True),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("sender", sa.String(), server_default="", nullable=False),
        sa.Column("expires_at", sa.Float(), server_default=sa.text("0"), nullable=False),
    )
    op.create_index("page_sessions_of_person", "page_sessions", ["person"])
    bind = op.get_bind()
    owned = list(_owned(bind.execute(WRITERS).all()))
    if owned:
        bind.execute(sa.text("UPDATE conversations SET owner = :owner WHERE id = :id"), owned)


def _owned(found: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for row in found:
        person = json.loads(row.sender)[0] if row.sender else ""
        if not person and row.platform in ("web", "terminal"):
            person = "owner"
        if person:
            yield {"id": row.id, "owner": f"{row.platform}:{person}"}
