"""Which recorded messages and turns belong to a topic that not everybody in its chat can read."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the columns with a default, so that a process of the previous version can keep running.

    Of older rows it is not known which are private. On Discord, the only platform with private threads in a
    channel, those in threads count as private, and so do all turns: their thread is not a column.
    """
    for table in ("record", "turns"):
        column = sa.Column("private_topic", sa.Integer(), server_default=sa.text("0"), nullable=False)
        op.add_column(table, column)
    op.execute("UPDATE turns SET private_topic = 1 WHERE platform = 'discord'")
    op.execute(
        "UPDATE record SET private_topic = 1 WHERE topic <> '' AND account IN"
        " (SELECT account FROM conversations WHERE platform = 'discord')"
    )
