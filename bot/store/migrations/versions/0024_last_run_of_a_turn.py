"""The newest run of a turn, beside its first."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running. A turn in
    progress has its newest run as its first.
    """
    number = sa.Column("last_attempt", sa.Integer(), server_default=sa.text("0"), nullable=False)
    op.add_column("turns", number)
    op.add_column("turns", sa.Column("last_run_id", sa.String(), server_default="", nullable=False))
