"""How far the last digest of a schedule came: its firings may be forgotten before the next one."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column; 0 asks the firings that there are."""
    op.add_column(
        "schedules", sa.Column("digested_at", sa.Float(), server_default=sa.text("0"), nullable=False)
    )
