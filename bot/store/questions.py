"""The open question of a conversation, and whose answer counts for it.

Anybody in the conversation may answer a clarification. An approval is decided by who asked for the work, or
by an admin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bot.domain import InboundMessage, Turn
from bot.store import statements as sql
from bot.store.connection import Connection


@dataclass(frozen=True, slots=True)
class Approval:
    """An open approval: the ids of the `people` who asked for the work, and the `words` that decide it."""

    people: Collection[str]
    words: Collection[str]

    def decided_by(self, message: InboundMessage, *, senior: bool) -> bool:
        """Whether a message decides: any click or words of who asked, and of an admin (`senior`) a click, or
        one of the answers as it was offered.
        """
        if message.origin.sender.id in self.people:
            return True
        return senior and (message.clicked or self.offers(message.text))

    def offers(self, text: str) -> bool:
        """Whether this is one of the answers as it was offered."""
        return text.strip().casefold() in self.words


def approval_in(row: Any) -> Approval | None:
    """The approval that is open in a conversation's row; None for none."""
    if not row.question or not row.decisions:
        return None
    return Approval(_list_in(row.askers), _list_in(row.decisions))


def ask(connection: Connection, turn: Turn, question: str, decisions: Sequence[str] | None) -> None:
    """A run stopped with a question, the interrupt of this id; not where the thread was left meanwhile.

    `decisions` are the answers of an approval, None where anybody may answer. Who asked for the work is who
    wrote the turn's messages; where these were an answer, whoever had asked before it.
    """
    people = turn.askers or tuple(dict.fromkeys(message.sender.id for message in turn.messages))
    values = {
        "question": question,
        "turn": turn.id,
        "askers": _list_out(people),
        "decisions": "" if decisions is None else _list_out([word.casefold() for word in decisions]),
    }
    connection.execute(sql.ASK, {**values, "conversation": turn.conversation, "thread_id": turn.thread_id})


def askers(connection: Connection, conversation: int) -> tuple[str, ...]:
    """Who asked for the work that the conversation's newest question was about."""
    return _list_in(connection.execute(sql.ASKERS, {"id": conversation}).one().askers)


def pressed(connection: Connection, turn: int, message: InboundMessage) -> bool:
    """Whether a button was pressed below the question that this turn asked."""
    values = {"turn": turn, "message_id": message.origin.reply_to}
    return connection.execute(sql.ASKED_WITH, values).first() is not None


def stands(connection: Connection, turn: int) -> bool:
    """Whether people may have read the question that this turn asks."""
    return connection.execute(sql.QUESTION_STANDS, {"id": turn}).first() is not None


def is_foreign(connection: Connection, message: InboundMessage, *, senior: bool) -> bool:
    """Whether somebody pressed a button of an approval that is not theirs to give, in any conversation of the
    chat.
    """
    origin = message.origin
    values = {"account": origin.account, "chat": origin.chat, "message_id": origin.reply_to}
    rows = connection.execute(sql.APPROVALS_WITH, values).all()
    found = [approval for row in rows if (approval := approval_in(row)) is not None]
    return bool(found) and not any(approval.decided_by(message, senior=senior) for approval in found)


def _list_out(texts: Sequence[str]) -> str:
    return orjson.dumps(list(texts)).decode()


def _list_in(column: str) -> tuple[str, ...]:
    return tuple(orjson.loads(column)) if column else ()
