"""Tool grants of persons, with an end; the call that an open approval covers."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
COLUMNS = "account, conversation_id, tool, person, name, given_at"
WEEK = 7 * 24 * 3600


def upgrade() -> None:
    """Move the grants to a table with an end; those for conversations end a week after they were given."""
    op.add_column("conversations", sa.Column("covers", sa.String(), server_default="", nullable=False))
    op.create_table(
        "tool_grants",
        sa.Column("id", Id, primary_key=True, autoincrement=True),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        *(sa.Column(name, sa.String(), server_default="", nullable=False) for name in ("person", "name")),
        sa.Column("given_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("expires_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.UniqueConstraint("account", "conversation_id", "tool", "person"),
    )
    op.execute(
        f"INSERT INTO tool_grants ({COLUMNS}, expires_at) SELECT {COLUMNS}, "
        f"CASE WHEN conversation_id = 0 THEN 0 ELSE given_at + {WEEK} END FROM permissions ORDER BY id"
    )
    op.drop_table("permissions")
