"""End of a schedule's last digest, since its runs may be deleted before the next one."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column; 0 means that it is derived from the stored runs."""
    op.add_column(
        "schedules", sa.Column("digested_at", sa.Float(), server_default=sa.text("0"), nullable=False)
    )
