"""Answer placement reference: accept sample messages and read where each is answered."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.access import AccessPolicy
from bot.account_view import AccountView
from bot.app.features import installed_commands
from bot.bus.admission import AdmissionPolicy
from bot.config import AccessConfig
from bot.domain import ChatKind, InboundMessage, Origin, ReplyAddress, Sender
from bot.store import Database, open_database
from bot.store.inbox import accept_batch
from bot.store.turns import load_turn
from bot.texts import texts_for

PRIVATE, GROUP = ChatKind.PRIVATE, ChatKind.GROUP


@dataclass(frozen=True, slots=True)
class Case:
    """A sample message."""

    title: str
    kind: ChatKind
    text: str
    topic: str = ""
    reply_to: str = ""


CASES: tuple[Case, ...] = (
    Case("a message in a private chat", PRIVATE, "hello"),
    Case("the next message there", PRIVATE, "and more"),
    Case("a mention in a group", GROUP, "hello"),
    Case("another mention there", GROUP, "something else"),
    Case("a reply to the previous message", GROUP, "and more", reply_to="4"),
    Case("a command there that is not a reply", GROUP, "/status"),
    Case("a mention in a forum topic", GROUP, "hello", topic="7"),
    Case("another mention in that topic", GROUP, "and more", topic="7"),
)


async def place_answers() -> list[list[str]]:
    """Return rows of message, place of the answer, and conversation."""
    serial = iter(range(1000))
    with tempfile.TemporaryDirectory() as folder:
        db = await open_database(Path(folder))
        account = AccountView(
            "",
            "",
            AccessPolicy(AccessConfig(default="allow")),
            texts_for("en"),
        )
        admissions = AdmissionPolicy(account, installed_commands(), lambda: f"thread-{next(serial)}")
        try:
            return await _rows(db, admissions)
        finally:
            await db.close()


async def _rows(db: Database, admissions: AdmissionPolicy) -> list[list[str]]:
    rows: list[list[str]] = []
    seen: list[int] = []
    for number, case in enumerate(CASES, 1):
        admission = admissions.admit_message(_message(number, case))
        assert admission is not None
        accepted = (await db.transact(accept_batch, "telegram", [admission], "", float(number), 20))[0]
        turn = (await db.transact(load_turn, accepted.turn)).turn
        assert turn is not None
        known = accepted.conversation in seen
        seen.append(accepted.conversation)
        rows.append([case.title, _place(turn.address), _conversation(seen, known=known)])
    return rows


def _message(number: int, case: Case) -> InboundMessage:
    chat = "1001" if case.kind is PRIVATE else ("-200" if case.topic else "-100")
    origin = Origin(
        "telegram", "telegram", chat, case.kind, str(number), Sender("1001", "Ann"), case.topic, case.reply_to
    )
    return InboundMessage(str(number), origin, case.text, float(number))


def _place(address: ReplyAddress) -> str:
    parts = ["in the topic" if address.topic else "in the chat"]
    if address.reply_to:
        parts.append("as a reply to the message")
    return ", ".join(parts)


def _conversation(seen: Sequence[int], *, known: bool) -> str:
    if not known:
        return "a new conversation"
    return "the same as before" if seen[-1] == seen[-2] else "that of the replied-to message"
