"""Tools that a person granted without approval. Grants for a whole account are its policy and stay in
force.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.store.connection import Connection, sql
from bot.store.person_data import MASK, PersonData, PersonKey

# Grants for the person's own work, and second ones of an erased person for a whole account.
DELETE_GRANTS = sql(
    """DELETE FROM tool_grants WHERE person = :person AND (conversation_id <> 0 OR EXISTS (SELECT 1
    FROM tool_grants g WHERE g.account = tool_grants.account AND g.conversation_id = 0
    AND g.tool = tool_grants.tool AND g.person = :nobody))"""
)
ANONYMIZE_GRANTS = sql("UPDATE tool_grants SET person = :nobody, name = '' WHERE person = :person")


class GrantData(PersonData):
    """Tools that people granted."""

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        grants = {"person": str(person), "nobody": MASK}
        connection.execute(DELETE_GRANTS, grants)
        connection.execute(ANONYMIZE_GRANTS, grants)
        return {}
