"""Languages that people chose for the service's texts."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "languages",
        sa.Column("entry", sa.String(), primary_key=True),
        sa.Column("language", sa.String(), nullable=False),
    )
