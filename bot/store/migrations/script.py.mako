"""${message}."""

from alembic import op
import sqlalchemy as sa

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
# None: only adds something, so code that works on the schema before also works on this one. Otherwise, the
# revision of the oldest code that works on this schema; see docs/decisions/migrate-in-two-halves.md.
requires = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
