"""The first schema.

Nothing older exists, so the tables are made from the metadata of that day, written out in `schema.py`.
"""

from alembic import op

from bot.store.schema import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table."""
    metadata.create_all(op.get_bind())
