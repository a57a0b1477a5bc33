"""Work at hand: open approvals and recent failures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bot.store.connection import Accounts, Connection, decode_choices, on_accounts, sql
from bot.store.conversations import CONVERSATION_VIEW, ConversationView, decode_conversation
from bot.store.interrupts import Approval, decode_approval

MOST_OPEN = 100
"""Number of approvals that are listed."""
LIST_APPROVALS = sql(
    f"""SELECT {CONVERSATION_VIEW}, question, asked_by, askers, decisions, remembered, asked_at
    FROM conversations WHERE question <> '' AND decisions <> '' ORDER BY asked_at DESC"""
)
LAST_QUESTION = sql(
    """SELECT position, content, choices FROM parts WHERE turn_id = :turn AND kind = 'text'
    AND state = 'final' ORDER BY position DESC LIMIT 1"""
)
COUNT_FAILED = sql(
    """SELECT COUNT(*) FROM turns WHERE state IN ('failed', 'expired') AND replaced = 0
    AND finished_at > :since AND (:all = 1 OR conversation_id IN
    (SELECT c.id FROM conversations c WHERE c.account IN :accounts OR c.owner IN :owners))""",
    "accounts",
    "owners",
)


@dataclass(frozen=True, slots=True)
class Reach:
    """Whose work somebody sees: that on `accounts` (None: all), and their own (`owners`, `platform:id`)."""

    accounts: Accounts
    owners: Collection[str]

    def includes(self, account: str, person: str) -> bool:
        """Return whether something of a person on an account is within reach."""
        return self.accounts is None or account in self.accounts or person in self.owners


EVERYTHING = Reach(None, ())


@dataclass(frozen=True, slots=True)
class OpenApproval:
    """An open approval. `part` is the position of its request in the reply of `turn`."""

    of: ConversationView
    approval: Approval
    turn: int
    part: int
    text: str
    choices: tuple[str, ...]
    at: float


def list_open_approvals(
    connection: Connection, reach: Reach = EVERYTHING, turns: Collection[int] | None = None
) -> list[OpenApproval]:
    """Return the open approvals within reach, or of turns, whose request was delivered, newest first."""
    found: list[OpenApproval] = []
    for row in connection.execute(LIST_APPROVALS).all():
        if turns is not None and row.asked_by not in turns:
            continue
        of, part = decode_conversation(row), None
        if len(found) < MOST_OPEN and reach.includes(of.key.account, of.owner):
            part = connection.execute(LAST_QUESTION, {"turn": row.asked_by}).first()
        approval = decode_approval(row, connection) if part is not None else None
        if part is not None and approval is not None:
            request = part.position, part.content, decode_choices(part.choices)
            found.append(OpenApproval(of, approval, row.asked_by, *request, row.asked_at))
    return found


def count_failed(connection: Connection, reach: Reach, since: float) -> int:
    """Count the turns within reach that failed after a time and were not answered again."""
    given = {"since": since, "owners": sorted(reach.owners) or [""], **on_accounts(reach.accounts)}
    return int(connection.execute(COUNT_FAILED, given).scalar_one())
