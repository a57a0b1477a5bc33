"""When recorded messages arrived by the clock of the service, which digests go by."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Add the column; 0 means that the time is unknown, so a process of the previous version can keep
    running.
    """
    op.add_column("record", sa.Column("accepted_at", sa.Float(), server_default=sa.text("0"), nullable=False))
