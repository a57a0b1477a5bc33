"""Who stopped a turn, and the turn that tells the agent about it (-1: none will)."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns with defaults, so that a process of the previous version can keep running. Answers that
    were stopped before are no news to the agent.
    """
    op.add_column("turns", sa.Column("stopper", sa.String(), server_default="", nullable=False))
    op.add_column("turns", sa.Column("stopper_name", sa.String(), server_default="", nullable=False))
    op.add_column("turns", sa.Column("stop_told", ID, server_default=sa.text("0"), nullable=False))
    op.execute("UPDATE turns SET stop_told = -1 WHERE stopped > 0")
    op.create_index(
        "turns_stopped",
        "turns",
        ["conversation_id", "stop_told"],
        sqlite_where=sa.text("stopped > 0"),
        postgresql_where=sa.text("stopped > 0"),
    )
