"""Partial index of a turn's messages: storing a message without a turn writes one page less."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

HAS_TURN = sa.text("turn_id > 0")


def upgrade() -> None:
    """Replace the index by a partial one."""
    op.drop_index("inbound_of_turn", "inbound")
    op.create_index(
        "inbound_of_turn", "inbound", ["turn_id"], sqlite_where=HAS_TURN, postgresql_where=HAS_TURN
    )
