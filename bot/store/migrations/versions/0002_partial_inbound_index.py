"""Messages enter the index of their turn when they get one, so that storing one writes a page less."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

HAS_TURN = sa.text("turn_id > 0")


def upgrade() -> None:
    """Make the index partial."""
    op.drop_index("inbound_of_turn", "inbound")
    op.create_index(
        "inbound_of_turn", "inbound", ["turn_id"], sqlite_where=HAS_TURN, postgresql_where=HAS_TURN
    )
