"""Database access for the store: named statements, rows, and their conversion to domain values.

SQLAlchemy handles the schema, the migrations and PostgreSQL. On SQLite its execution layer took 90% of a
statement's time while holding the GIL, which the event loop needs, so SQLite statements run directly on the
driver.

On the driver, storing 100 messages takes 8 ms instead of 60.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Protocol, TypeVar, cast

import orjson
import sqlalchemy

from bot.domain import (
    APP_PREFIX,
    Attachment,
    AttachmentKind,
    ChatKind,
    Mention,
    MentionKind,
    Part,
    PartKind,
    PartState,
    ProgressState,
    Quotation,
    QuotationKind,
    ReplyAddress,
    Sender,
    StepKind,
    ToolStep,
)
from bot.turn import ChangeNote, Stopped, StoppedAnswer, Turn, TurnKind, TurnMessage, TurnState

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL for both databases with `:name` parameters; `lists` names the list parameters (`IN :name`)."""

    text: str
    lists: tuple[str, ...] = ()


def sql(text: str, *lists: str) -> Statement:
    """Return the statement with its whitespace collapsed; `lists` names its list parameters."""
    return Statement(" ".join(text.split()), lists)


Accounts = frozenset[str] | None
"""Accounts to which a query is restricted; None: all."""


def on_accounts(accounts: Accounts) -> dict[str, Any]:
    """Return the parameters of the condition `(:all = 1 OR account IN :accounts)`."""
    return {"all": int(accounts is None), "accounts": sorted(accounts or [""])}


class Rows(Protocol):
    """Result of a statement. Columns are available as attributes and by position."""

    def all(self) -> Sequence[Any]:
        """Return all rows."""
        ...

    def first(self) -> Any:
        """Return the first row, or None if there is none."""
        ...

    def one(self) -> Any:
        """Return the only row. Raises an exception if there is none."""
        ...

    def scalar_one(self) -> Any:
        """Return the first column of the only row. Raises an exception if there is none."""
        ...

    def scalar_one_or_none(self) -> Any:
        """Return the first column of the first row, or None if there is none."""
        ...


class Connection(Protocol):
    """The connection of one transaction."""

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement."""
        ...


class SqliteConnection:
    """Runs statements on the `sqlite3` module. `raw` is its connection."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement and fetch all rows, because an open statement would keep the WAL from shrinking."""
        text, values = expanded(statement, parameters or {})
        cursor = self.raw.execute(text, values)
        if cursor.description is None:
            return FetchedRows(())
        row = _row(tuple(column[0] for column in cursor.description))
        return FetchedRows([row(*found) for found in cursor.fetchall()])


@dataclass(frozen=True, slots=True)
class FetchedRows:
    """Rows that have already been fetched."""

    rows: Sequence[Any]

    def all(self) -> Sequence[Any]:
        return self.rows

    def first(self) -> Any:
        return self.rows[0] if self.rows else None

    def one(self) -> Any:
        """Return the only row. Raises IndexError."""
        return self.rows[0]

    def scalar_one(self) -> Any:
        """Return the first column of the only row. Raises IndexError."""
        return self.rows[0][0]

    def scalar_one_or_none(self) -> Any:
        return self.rows[0][0] if self.rows else None


class SqlAlchemyConnection:
    """Runs statements on SQLAlchemy, for PostgreSQL."""

    def __init__(self, inner: sqlalchemy.Connection) -> None:
        self._inner = inner

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        given = dict(parameters or {})
        # SQLAlchemy gives an empty list the type of an integer; NULL has no type, and equals nothing.
        given |= {name: given[name] or [None] for name in statement.lists}
        return self._inner.execute(_clause(statement), given)


def expanded(statement: Statement, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a statement with expanded list parameters, and all parameter values."""
    if not statement.lists:
        return statement.text, parameters
    text, values = statement.text, dict(parameters)
    for name in statement.lists:
        members = {f"{name}_{index}": value for index, value in enumerate(values.pop(name))}
        text = text.replace(f":{name}", "(" + ", ".join(f":{member}" for member in members) + ")")
        values |= members
    return text, values


@lru_cache(maxsize=256)
def _row(columns: tuple[str, ...]) -> Any:
    return namedtuple("Row", columns, rename=True)


@lru_cache(maxsize=256)
def _clause(statement: Statement) -> sqlalchemy.TextClause:
    clause = sqlalchemy.text(statement.text)
    lists: list[sqlalchemy.BindParameter[Any]] = [
        sqlalchemy.bindparam(name, expanding=True) for name in statement.lists
    ]
    return clause.bindparams(*lists) if lists else clause


UNSAID: tuple[Any, ...] = ("", "", "", (), False, "", "")
"""Defaults for the fields of a sender that the stored column omits."""
NEWEST = 2**62


# States of an open turn, as an SQL list.
OPEN = "('accepted', 'running', 'waiting', 'delivering')"
# Excludes turns that only show that an interrupt was abandoned: they involve no work.
AT_WORK = f"stopped <> {Stopped.LEFT.value}"


def encode_address(address: ReplyAddress) -> str:
    """Encode an address for its column."""
    return orjson.dumps(
        [address.account, address.chat, address.chat_kind.value, address.topic, address.reply_to]
    ).decode()


def decode_address(column: str) -> ReplyAddress:
    """Decode an address column."""
    account, chat, kind, topic, reply_to = orjson.loads(column)
    return ReplyAddress(account, chat, ChatKind(kind), topic, reply_to)


def encode_sender(sender: Sender) -> str:
    """Encode a sender for its column."""
    known = [sender.key, sender.name, sender.username]
    more: list[Any] = [list(sender.belongs), sender.guest, sender.account, sender.tag]
    while more and not more[-1]:
        more.pop()
    return orjson.dumps([*known, *more]).decode()


def decode_sender(column: str) -> Sender:
    """Decode a sender column."""
    written: list[Any] = orjson.loads(column)
    person, name, username, belongs, guest, account, tag = [*written, *UNSAID[len(written) :]]
    is_bot = person.startswith(APP_PREFIX)
    return Sender(
        person.removeprefix(APP_PREFIX),
        name,
        username,
        is_bot,
        tuple(belongs),
        guest=guest,
        account=account,
        tag=tag,
    )


def encode_senders(people: Sequence[Sender]) -> str:
    """Encode several senders for their column."""
    return orjson.dumps([encode_sender(person) for person in people]).decode()


def decode_senders(column: str) -> tuple[Sender, ...]:
    """Decode a column of senders; earlier versions stored only their ids."""
    written = orjson.loads(column) if column else []
    return tuple(decode_sender(one) if one.startswith("[") else Sender(one) for one in written)


def encode_attachments(attachments: Sequence[Attachment]) -> str:
    """Encode attachments for their column ("" if empty)."""
    if not attachments:
        return ""
    return orjson.dumps([[a.kind.value, a.filename, a.ref, a.size, a.mime] for a in attachments]).decode()


def decode_attachments(column: str) -> tuple[Attachment, ...]:
    """Decode an attachments column."""
    rows = orjson.loads(column) if column else []
    return tuple(
        Attachment(AttachmentKind(kind), name, ref, size, mime) for kind, name, ref, size, mime in rows
    )


def encode_quotations(quotations: Sequence[Quotation]) -> str:
    """Encode quotations for their column ("" if empty)."""
    if not quotations:
        return ""
    return orjson.dumps([_encode_quotation(one) for one in quotations]).decode()


def _encode_quotation(one: Quotation) -> list[Any]:
    row = [one.kind.value, one.text, one.author, one.author_id, list(one.files), one.sent_at]
    return [*row, one.message_id] if one.message_id else row


def decode_quotations(column: str) -> tuple[Quotation, ...]:
    """Decode a quotations column. Earlier versions stored neither time nor message id."""
    rows = orjson.loads(column) if column else []
    return tuple(
        Quotation(QuotationKind(kind), text, author, author_id, tuple(files), *at_and_id)
        for kind, text, author, author_id, files, *at_and_id in rows
    )


MAX_MENTIONS = 50
"""Maximum number of mentions stored with a message."""


def encode_mentions(mentions: Sequence[Mention]) -> str:
    """Encode the first MAX_MENTIONS mentions for their column ("" if empty)."""
    if not mentions:
        return ""
    rows = [[one.kind.value, one.name, one.id] for one in mentions[:MAX_MENTIONS]]
    return orjson.dumps(rows).decode()


def add_mentions(column: str, mentions: Sequence[Mention]) -> str:
    """Add mentions to an encoded column, without duplicates. Stored mentions come first: the agent may have
    read them, so an erasure must be able to find them.
    """
    return encode_mentions(list(dict.fromkeys([*decode_mentions(column), *mentions])))


def decode_mentions(column: str) -> tuple[Mention, ...]:
    """Decode a mentions column."""
    rows = orjson.loads(column) if column else []
    return tuple(Mention(MentionKind(kind), name, identity) for kind, name, identity in rows)


def encode_words(words: Sequence[str]) -> str:
    """Encode decision words for their column, even if empty ("" means "not set")."""
    return orjson.dumps(list(words)).decode()


def encode_choices(choices: Sequence[str], commands: Sequence[str] = ()) -> str:
    """Encode choices for their column, including their commands, if any."""
    if commands:
        return orjson.dumps([*zip(choices, commands, strict=True)]).decode()
    return encode_words(choices) if choices else ""


def decode_choices(column: str) -> tuple[str, ...]:
    """Decode a choices column."""
    found = orjson.loads(column) if column else []
    return tuple(one if isinstance(one, str) else one[0] for one in found)


def decode_commands(column: str) -> dict[str, str]:
    """Decode the commands in a choices column ({} if there are none)."""
    found = orjson.loads(column) if column else []
    return {one[0]: one[1] for one in found if not isinstance(one, str)}


def encode_steps(steps: Sequence[ToolStep]) -> str:
    """Encode steps for their column."""
    told = [
        [one.tool, one.arguments, one.state.value, one.result, one.seconds]
        + ([] if one.kind is StepKind.TOOL else [one.kind.value, one.title])
        for one in steps
    ]
    return orjson.dumps(told).decode()


def decode_steps(column: str) -> tuple[ToolStep, ...]:
    """Decode a steps column."""
    found = orjson.loads(column) if column else []
    return tuple(
        ToolStep(tool, arguments, ProgressState(state), result, seconds, *_decode_kind(*kind))
        for tool, arguments, state, result, seconds, *kind in found
    )


def _decode_kind(kind: str = StepKind.TOOL, title: str = "") -> tuple[StepKind, str]:
    return StepKind(kind), title


def decode_fields(kind: Callable[..., T], row: Any, /, **decoded: Any) -> T:
    """Return an object of a dataclass; its fields are columns of the same name, unless already decoded."""
    names = (one.name for one in fields(cast("Any", kind)) if one.name not in decoded)
    return kind(**{name: getattr(row, name) for name in names}, **decoded)


def decode_message(row: Any) -> TurnMessage:
    """Return the message in a row."""
    return decode_fields(
        TurnMessage,
        row,
        sender=decode_sender(row.sender),
        attachments=decode_attachments(row.attachments),
        deleted=bool(row.deleted),
        quotations=decode_quotations(row.quotations),
        mentions=decode_mentions(row.mentions),
    )


def decode_part(row: Any) -> Part:
    """Return the reply part in a row."""
    return Part(
        index=row.position,
        kind=PartKind(row.kind),
        content=row.content,
        state=PartState(row.state),
        platform_id=row.platform_id,
        filename=row.filename,
        repeated=bool(row.repeated),
        choices=decode_choices(row.choices),
        commands=tuple(decode_commands(row.choices).values()),
    )


def decode_turn(
    row: Any,
    messages: Sequence[TurnMessage],
    notes: Sequence[ChangeNote] = (),
    askers: Sequence[Sender] = (),
    asked_by: int = 0,
    covers: str = "",
    *,
    approved: Sequence[str] = (),
    cut_off: Sequence[StoppedAnswer] = (),
) -> Turn:
    """Return the turn in a row, with its messages, notes and the requesters of the work it continues."""
    return decode_fields(
        Turn,
        row,
        conversation=row.conversation_id,
        kind=TurnKind(row.kind),
        state=TurnState(row.state),
        address=decode_address(row.address),
        plan=bool(row.plan),
        stopped=Stopped(row.stopped),
        messages=tuple(messages),
        notes=tuple(notes),
        cut_off=tuple(cut_off),
        askers=tuple(askers),
        asked_by=asked_by,
        covers=covers,
        approved=tuple(approved),
    )
