"""Requests to erase a person's data."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the table of requests; erasures before this version left no request behind."""
    op.create_table(
        "erasures",
        sa.Column("id", Id, primary_key=True, autoincrement=True),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("requested_at", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("upto", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("scopes", sa.String(), server_default="", nullable=False),
        sa.Column("names", sa.String(), server_default="", nullable=False),
        sa.Column("counts", sa.String(), server_default="", nullable=False),
        sa.Column("finished_at", sa.Float(), server_default=sa.text("0"), nullable=False),
    )
    op.create_index("erasures_of_person", "erasures", ["person", "id"])
