"""Hash chain over the audit log, which shows changes by somebody who can write to the database only.

An event is stored unsealed in the transaction that it records. A short transaction of its own seals it later:
it gets the next position, a commitment for each personal field, and a seal, which is an HMAC over the event
and the previous seal. Transactions that record events therefore never wait for each other. The key of the
HMAC is not in the database.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.store.connection import Connection, sql
from bot.store.person_data import MASK

PERSONAL = ("person", "name", "chat", "subject", "detail")
"""Fields that can be masked when a person's data is erased. The seal covers a salted hash of each."""
BATCH = 500
PAGE = 1000
SALT_BYTES = 16
MOST_BREAKS = 20


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A position in the chain, counted from 1, and its seal. The default precedes the first event."""

    position: int = 0
    seal: str = ""


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """A place where the chain is broken: the positions concerned, and what is wrong with them."""

    first: int
    last: int
    problem: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """Result of a verification. `sealed` counts the verified events, `masked` those with erased fields, and
    `unsealed` those that wait for their seal; `oldest_unsealed` is the time of the first of them, 0 for none.
    `breaks` has at most `MOST_BREAKS` items, in the order of the chain.
    """

    sealed: int
    masked: int
    unsealed: int
    oldest_unsealed: float
    anchor: ChainLink
    last: ChainLink
    breaks: tuple[ChainBreak, ...]


# Lock the chain until the transaction ends: one row, which nothing else writes.
LOCK_CHAIN = sql(
    """INSERT INTO audit_anchor (id, position, seal, mac) VALUES (1, 0, '', '')
    ON CONFLICT (id) DO UPDATE SET id = excluded.id"""
)
LOAD_ANCHOR = sql("SELECT position, seal, mac FROM audit_anchor WHERE id = 1")
MOVE_ANCHOR = sql("UPDATE audit_anchor SET position = :position, seal = :seal, mac = :mac WHERE id = 1")
LIST_UNSEALED = sql("SELECT * FROM audit WHERE position = 0 ORDER BY id LIMIT :limit")
COUNT_UNSEALED = sql("SELECT COUNT(*) AS unsealed, MIN(at) AS oldest FROM audit WHERE position = 0")
LOAD_LAST = sql("SELECT position, seal FROM audit WHERE position > 0 ORDER BY position DESC LIMIT 1")
LOAD_POSITION = sql("SELECT position, seal FROM audit WHERE position = :position ORDER BY id LIMIT 1")
# Load the event at a position, or the one before a gap.
LOAD_UP_TO = sql(
    """SELECT position, seal FROM audit WHERE position > 0 AND position <= :position
    ORDER BY position DESC LIMIT 1"""
)
SEAL_EVENT = sql(
    "UPDATE audit SET position = :position, seal = :seal, commitments = :commitments WHERE id = :id"
)
# List sealed events in the order of the chain; two with one position are told apart by their id.
LIST_SEALED = sql(
    """SELECT * FROM audit WHERE position > :after OR (position = :after AND id > :id)
    ORDER BY position, id LIMIT :limit"""
)
# Count events that no sealing and no deletion can have left.
COUNT_STRAY = sql("SELECT COUNT(*) FROM audit WHERE position < 0 OR (position > 0 AND position <= :anchor)")
# Find the first event to be kept, and delete those before it.
FIRST_TO_KEEP = sql("SELECT MIN(position) FROM audit WHERE position > 0 AND at >= :before")
DELETE_UP_TO = sql("DELETE FROM audit WHERE position > 0 AND position <= :position")
LOAD_EVENTS = sql("SELECT * FROM audit WHERE id IN :ids", "ids")
MASK_EVENT = sql(
    """UPDATE audit SET person = :person, name = :name, chat = :chat, subject = :subject, detail = :detail,
    commitments = :commitments WHERE id = :id"""
)


def seal_events(connection: Connection, key: bytes, head: ChainLink) -> ChainLink | None:
    """Seal the oldest unsealed events and return the new end of the chain, or None if there were none.

    `head` is the end of the chain as recorded outside the database. If the database ends before it, events
    were removed; the chain then continues after `head`, so that the gap stays visible.
    """
    if connection.execute(LIST_UNSEALED, {"limit": 1}).first() is None:
        return None  # The usual case, which writes nothing.
    connection.execute(LOCK_CHAIN)
    rows = connection.execute(LIST_UNSEALED, {"limit": BATCH}).all()
    last = max(_last_link(connection), head, key=lambda link: link.position)
    for row in rows:
        commitments = _commit(row)
        seal = _seal_of(key, last, row, last.position + 1, commitments)
        last = ChainLink(last.position + 1, seal)
        values = {"position": last.position, "seal": seal, "commitments": json.dumps(commitments)}
        connection.execute(SEAL_EVENT, {"id": row.id, **values})
    return last if rows else None


def purge_audit(connection: Connection, key: bytes, before: float) -> int:
    """Delete the sealed events from before an instant, and return their number.

    The seal of the last deleted event becomes the anchor at which the rest of the chain begins.
    """
    connection.execute(LOCK_CHAIN)
    anchor, last = _load_anchor(connection), _last_link(connection)
    kept = connection.execute(FIRST_TO_KEEP, {"before": before}).scalar_one()
    upto = last.position if kept is None else int(kept) - 1
    found = connection.execute(LOAD_UP_TO, {"position": upto}).first()
    if found is None or found.position <= anchor.position:
        return 0
    moved = ChainLink(found.position, found.seal)
    mac = _anchor_mac(key, moved)
    connection.execute(MOVE_ANCHOR, {"position": moved.position, "seal": moved.seal, "mac": mac})
    connection.execute(DELETE_UP_TO, {"position": moved.position})
    return moved.position - anchor.position


def mask_events(connection: Connection, ids: Sequence[int], fields: Sequence[str] = PERSONAL) -> None:
    """Replace fields of events with `MASK`; the chain stays intact, since the commitments are kept.

    The salts are dropped, so that nobody can confirm a guess of the old content. Call this before other
    statements of the transaction that touch sealed events, because it locks the chain.
    """
    connection.execute(LOCK_CHAIN)
    for row in connection.execute(LOAD_EVENTS, {"ids": list(ids)}).all() if ids else ():
        values = {name: MASK if name in fields else getattr(row, name) for name in PERSONAL}
        commitments = json.loads(row.commitments) if row.commitments else {}
        for name in set(fields) & commitments.keys():
            commitments[name] = ["", commitments[name][1]]
        stored = json.dumps(commitments) if commitments else ""
        connection.execute(MASK_EVENT, {"id": row.id, "commitments": stored, **values})


def verify_chain(connection: Connection, key: bytes, head: ChainLink) -> ChainReport:
    """Verify all sealed events, the anchor, and that the chain reaches `head`. Changes nothing."""
    anchor = _load_anchor(connection)
    breaks = list(_check_ends(connection, key, anchor, head))
    verifier = _Verifier(key, anchor)
    breaks += verifier.run(connection)
    waiting = connection.execute(COUNT_UNSEALED).one()
    last = verifier.previous
    if last.position < head.position:
        breaks.append(ChainBreak(last.position + 1, head.position, "deleted at the end of the log"))
    return ChainReport(
        verifier.count,
        verifier.masked,
        int(waiting.unsealed),
        float(waiting.oldest or 0.0),
        anchor,
        last,
        tuple(breaks[:MOST_BREAKS]),
    )


class _Verifier:
    """Walks the chain. `previous` is the last link that was read, verified or not."""

    def __init__(self, key: bytes, anchor: ChainLink) -> None:
        self._key = key
        self.previous = anchor
        self.count = 0
        self.masked = 0

    def run(self, connection: Connection) -> Iterator[ChainBreak]:
        after, id_ = self.previous.position, 2**62
        while rows := connection.execute(LIST_SEALED, {"after": after, "id": id_, "limit": PAGE}).all():
            for row in rows:
                yield from self._check_row(row)
            after, id_ = rows[-1].position, rows[-1].id

    def _check_row(self, row: Any) -> Iterator[ChainBreak]:
        expected = self.previous.position + 1
        if row.position > expected:
            yield ChainBreak(expected, row.position - 1, "deleted")
        elif row.position < expected:
            yield ChainBreak(row.position, row.position, "inserted")
            return
        problem = self._problem_of(row)
        if problem:
            yield ChainBreak(row.position, row.position, problem)
        self.count += not problem
        self.previous = ChainLink(row.position, row.seal)

    def _problem_of(self, row: Any) -> str:
        commitments = _parse_commitments(row.commitments)
        if commitments is None:
            return "changed"
        changed = [name for name, pair in commitments.items() if not _fits(getattr(row, name), *pair)]
        if changed:
            return f"changed: {', '.join(changed)}"
        self.masked += any(not salt for salt, _ in commitments.values())
        if row.position != self.previous.position + 1:
            return ""  # After a gap the previous seal is unknown, and the gap is reported already.
        seal = _seal_of(self._key, self.previous, row, row.position, commitments)
        return "" if hmac.compare_digest(seal.encode(), row.seal.encode()) else "changed"


def _check_ends(
    connection: Connection, key: bytes, anchor: ChainLink, head: ChainLink
) -> Iterator[ChainBreak]:
    """Check what lies before the anchor, the anchor itself, and the seal at the recorded end."""
    stray = int(connection.execute(COUNT_STRAY, {"anchor": anchor.position}).scalar_one())
    if stray:
        yield ChainBreak(0, anchor.position, f"{stray} inserted before the start of the log")
    found = connection.execute(LOAD_ANCHOR).first()
    mac = _anchor_mac(key, anchor) if anchor.position else ""
    if found is not None and not hmac.compare_digest(found.mac.encode(), mac.encode()):
        yield ChainBreak(anchor.position, anchor.position, "start of the log changed")
    at_head = connection.execute(LOAD_POSITION, {"position": head.position}).first()
    if at_head is not None and at_head.seal != head.seal:
        yield ChainBreak(head.position, head.position, "replaced since the end was recorded")


def _last_link(connection: Connection) -> ChainLink:
    found = connection.execute(LOAD_LAST).first()
    return ChainLink(found.position, found.seal) if found else _load_anchor(connection)


def _load_anchor(connection: Connection) -> ChainLink:
    found = connection.execute(LOAD_ANCHOR).first()
    return ChainLink(found.position, found.seal) if found else ChainLink()


def _commit(row: Any) -> dict[str, list[str]]:
    """Return a salt and a hash for each personal field."""
    salts = {name: secrets.token_hex(SALT_BYTES) for name in PERSONAL}
    return {name: [salt, _digest(salt, getattr(row, name))] for name, salt in salts.items()}


def _digest(salt: str, text: str) -> str:
    return hashlib.sha256(f"{salt}\0{text}".encode(errors="surrogatepass")).hexdigest()


def _fits(text: str, salt: str, digest: str) -> bool:
    return _digest(salt, text) == digest if salt else text == MASK


def _parse_commitments(column: str) -> dict[str, list[str]] | None:
    """Return the commitments of a column, or None if it does not hold one for each personal field."""
    try:
        found = json.loads(column)
        pairs = {name: [str(salt), str(digest)] for name, (salt, digest) in found.items()}
    except (ValueError, TypeError, AttributeError):
        return None
    return pairs if tuple(pairs) == PERSONAL else None


def _seal_of(
    key: bytes, previous: ChainLink, row: Any, position: int, commitments: dict[str, list[str]]
) -> str:
    digests = [commitments[name][1] for name in PERSONAL]
    content = [previous.seal, position, row.id, row.key, row.at, row.account, row.action, digests]
    return _mac(key, "event", content)


def _anchor_mac(key: bytes, anchor: ChainLink) -> str:
    return _mac(key, "anchor", [anchor.position, anchor.seal])


def _mac(key: bytes, purpose: str, content: list[Any]) -> str:
    # Escaped to ASCII, so that every string has exactly one form.
    return hmac.new(key, json.dumps([purpose, *content]).encode(), hashlib.sha256).hexdigest()
