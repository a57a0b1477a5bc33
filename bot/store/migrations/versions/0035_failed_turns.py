"""Index of failed turns."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
FAILED = sa.text("state = 'failed'")


def upgrade() -> None:
    """Add the index; a process of the previous version can keep running."""
    op.create_index("turns_failed", "turns", ["finished_at"], sqlite_where=FAILED, postgresql_where=FAILED)
