"""Messages and admissions as the tests of the store make them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, cast

from bot.app.features import load_features
from bot.domain import Attachment, ChatKind, InboundChange, InboundMessage, IsolationPolicy, Origin, Sender
from bot.store import Database
from bot.store.admission_types import Accepted, Admission, InboxItem, Notice, Refusal, Verdict
from bot.store.chat_record import NO_RECORD, ChatRecord
from bot.store.inbox import accept_batch
from bot.wiring import Core

ids = itertools.count(1)
ANN, BEN = Sender("7", "Ann", "ann"), Sender("8", "Ben")
QUEUE = 20
WORDS = {
    "queue_full": "full",
    "question_closed": "stale",
    "approval_foreign": "foreign",
    "approval_waits": "waits",
    "busy_rejects": "busy",
    "pair_crowded": "too many",
}


def words(key: str, **_fields: object) -> str:
    """Short texts in place of the catalogue's; any other key stands for itself."""
    return WORDS.get(key, key)


def message(
    text: str = "hello",
    *,
    chat: str = "c1",
    kind: ChatKind = ChatKind.PRIVATE,
    topic: str = "",
    reply_to: str = "",
    sender: Sender = ANN,
    event: str = "",
    message_id: str = "",
    attachments: tuple[Attachment, ...] = (),
    clicked: bool = False,
) -> InboundMessage:
    number = str(next(ids))
    origin = Origin("tg", "telegram", chat, kind, message_id or number, sender, topic, reply_to)
    return InboundMessage(event or f"e{number}", origin, text, 5.0, attachments=attachments, clicked=clicked)


def admission(of: InboundMessage, verdict: Verdict = Verdict.CHAT, **more: object) -> Admission:
    base = Admission(
        of,
        verdict,
        IsolationPolicy(),
        f"thread-{next(ids)}",
        words,
    )
    if isinstance(notice := more.get("notice"), str):
        more["notice"] = Notice(notice)
    return replace(base, **more)


def changed(of: InboundMessage, text: str | None, *, at: float = 50.0, event: str = "") -> InboundChange:
    """Somebody changes this message, or takes it away (None)."""
    return InboundChange(event or f"e{next(ids)}", of.origin, text, at)


def make_recorder() -> ChatRecord:
    """Return the record of the feature that has one; it has no settings."""
    makers: list[Any] = [make for feature in load_features().usable for make in feature.parts]
    records = [make for make in makers if isinstance(make, type) and issubclass(make, ChatRecord)]
    return records[0](cast(Core, None)) if records else NO_RECORD


RECORDER = make_recorder()


async def accept(db: Database, *admitted: InboxItem, cursor: str = "", now: float = 100.0) -> list[Accepted]:
    taken = await db.transact(accept_batch, "tg", admitted, cursor, now, QUEUE, RECORDER)
    return [one for one in taken if isinstance(one, Accepted)]


async def refused(db: Database, *admitted: Admission) -> list[Refusal]:
    """The clicks that are not their authors' to make."""
    taken = await db.transact(accept_batch, "tg", admitted, "", 100.0, QUEUE)
    return [one for one in taken if isinstance(one, Refusal)]
