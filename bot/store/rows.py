"""Between rows and domain values; JSON columns are written compactly and read back exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from bot.domain import (
    Attachment,
    AttachmentKind,
    ChangeNote,
    ChatKind,
    Part,
    PartKind,
    PartState,
    ProgressState,
    ReplyAddress,
    Sender,
    Stopped,
    ToolStep,
    Turn,
    TurnKind,
    TurnMessage,
    TurnState,
)


def address_out(address: ReplyAddress) -> str:
    """The column form of an address."""
    return orjson.dumps(
        [address.account, address.chat, address.chat_kind.value, address.topic, address.reply_to]
    ).decode()


def address_in(column: str) -> ReplyAddress:
    """The address of a column."""
    account, chat, kind, topic, reply_to = orjson.loads(column)
    return ReplyAddress(account, chat, ChatKind(kind), topic, reply_to)


def sender_out(sender: Sender) -> str:
    """The column form of a sender."""
    known = [sender.id, sender.name, sender.username]
    more = [list(sender.belongs), sender.guest] if sender.belongs or sender.guest or sender.account else []
    return orjson.dumps([*known, *more, *([sender.account] if sender.account else [])]).decode()


UNSAID: tuple[Any, ...] = ("", "", "", (), False, "")
"""What a sender has of which the column says nothing."""


def sender_in(column: str) -> Sender:
    """The sender of a column."""
    written: list[Any] = orjson.loads(column)
    person, name, username, belongs, guest, account = [*written, *UNSAID[len(written) :]]
    return Sender(person, name, username, belongs=tuple(belongs), guest=guest, account=account)


def people_out(people: Sequence[Sender]) -> str:
    """The column form of several senders."""
    return orjson.dumps([sender_out(person) for person in people]).decode()


def people_in(column: str) -> tuple[Sender, ...]:
    """The senders of a column; earlier versions wrote their ids alone."""
    written = orjson.loads(column) if column else []
    return tuple(sender_in(one) if one.startswith("[") else Sender(one) for one in written)


def attachments_out(attachments: Sequence[Attachment]) -> str:
    """The column form of attachments ("" for none)."""
    if not attachments:
        return ""
    return orjson.dumps([[a.kind.value, a.filename, a.ref, a.size, a.mime] for a in attachments]).decode()


def attachments_in(column: str) -> tuple[Attachment, ...]:
    """The attachments of a column."""
    rows = orjson.loads(column) if column else []
    return tuple(
        Attachment(AttachmentKind(kind), name, ref, size, mime) for kind, name, ref, size, mime in rows
    )


def words_out(words: Sequence[str]) -> str:
    """The column form of words, of none too ("" stands for "not said")."""
    return orjson.dumps(list(words)).decode()


def choices_out(choices: Sequence[str]) -> str:
    """The column form of choices."""
    return words_out(choices) if choices else ""


def choices_in(column: str) -> tuple[str, ...]:
    """The choices of a column."""
    return tuple(orjson.loads(column)) if column else ()


def steps_out(steps: Sequence[ToolStep]) -> str:
    """The column form of tool calls."""
    told = [[one.tool, one.arguments, one.state.value, one.result, one.seconds] for one in steps]
    return orjson.dumps(told).decode()


def steps_in(column: str) -> tuple[ToolStep, ...]:
    """The tool calls of a column."""
    found = orjson.loads(column) if column else []
    return tuple(
        ToolStep(tool, arguments, ProgressState(state), result, seconds)
        for tool, arguments, state, result, seconds in found
    )


def message_in(row: Any) -> TurnMessage:
    """A message of a turn."""
    return TurnMessage(
        id=row.id,
        event_id=row.event_id,
        message_id=row.message_id,
        sender=sender_in(row.sender),
        text=row.text,
        sent_at=row.sent_at,
        attachments=attachments_in(row.attachments),
        deleted=bool(row.deleted),
    )


def part_in(row: Any) -> Part:
    """A part of a reply."""
    return Part(
        index=row.position,
        kind=PartKind(row.kind),
        content=row.content,
        state=PartState(row.state),
        platform_id=row.platform_id,
        filename=row.filename,
        repeated=bool(row.repeated),
        choices=choices_in(row.choices),
    )


def turn_in(
    row: Any,
    messages: Sequence[TurnMessage],
    notes: Sequence[ChangeNote] = (),
    askers: Sequence[Sender] = (),
    asked_by: int = 0,
    *,
    approved: Sequence[str] = (),
) -> Turn:
    """A turn with its messages, what is told with them, and whose work an answer goes on with."""
    return Turn(
        id=row.id,
        conversation=row.conversation_id,
        kind=TurnKind(row.kind),
        state=TurnState(row.state),
        address=address_in(row.address),
        thread_id=row.thread_id,
        platform=row.platform,
        created_at=row.created_at,
        ready_at=row.ready_at,
        attempt=row.attempt,
        run_id=row.run_id,
        checkpoint=row.checkpoint,
        model=row.model,
        plan=bool(row.plan),
        agent=row.agent,
        busy=row.busy,
        repeats=row.repeats,
        stopped=Stopped(row.stopped),
        answers=row.answers,
        messages=tuple(messages),
        notes=tuple(notes),
        askers=tuple(askers),
        asked_by=asked_by,
        approved=tuple(approved),
        error=row.error,
    )


NEWEST = 2**62
