"""Schedules that the agent proposed, and what people decided."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "schedule_proposals",
        sa.Column("turn_id", Id, primary_key=True, autoincrement=False),
        sa.Column("interrupt", sa.String(), primary_key=True),
        sa.Column("conversation_id", Id, nullable=False),
        sa.Column("draft", Id, nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("target", Id, server_default=sa.text("0"), nullable=False),
        sa.Column("decision", sa.String(), server_default="", nullable=False),
        sa.Column("told_in", Id, server_default=sa.text("0"), nullable=False),
        sa.Column("made_at", sa.Float(), server_default=sa.text("0"), nullable=False),
    )
    op.create_index("schedule_proposals_of_draft", "schedule_proposals", ["draft"])
    op.create_index("schedule_proposals_of_conversation", "schedule_proposals", ["conversation_id"])
