"""People, channels and roles that messages name, with their ids."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add the columns with a default, so that a process of the previous version can keep running."""
    for table in ("inbound", "record"):
        op.add_column(table, sa.Column("mentions", sa.Text(), server_default="", nullable=False))
