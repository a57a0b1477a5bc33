"""The hash chain over the audit log: what it proves, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bot.errors import StoreError
from bot.features.privacy.audit_chain import ChainBreak, ChainLink, ChainReport, mask_events, verify_chain
from bot.features.privacy.audit_seals import AuditSealer, create_key, load_head, load_key, store_head
from bot.store import Database
from bot.store.audit import Actor, AuditEvent, list_audit_entries, record_event
from bot.store.connection import Connection, sql
from bot.store.person_data import MASK
from roebot_testing.clock import ManualClock

DAY = 24 * 3600.0


class Log:
    """An audit log in a data directory, and everything that is done to it."""

    def __init__(self, db: Database, home: Path) -> None:
        self.db, self.home = db, home
        self.clock = ManualClock()
        self.sealer = AuditSealer(db, self.clock, home)
        self.number = 0

    async def record(self, count: int, at: float = 1000.5, name: str = "Ann") -> None:
        for _ in range(count):
            self.number += 1
            actor = Actor(f"key-{self.number}", "telegram:7", name, "tg", "c1")
            await self.db.transact(record_event, actor, AuditEvent("give", "telegram:8", "secret word"), at)

    async def add(self, count: int, at: float = 1000.5) -> None:
        await self.record(count, at)
        await self.sealer.seal()

    async def forge(self, statement: str, **given: Any) -> None:
        """Write to the database as somebody who knows nothing but its password."""

        def work(connection: Connection) -> None:
            connection.execute(sql(statement), given)

        await self.db.transact(work)

    async def verify(self) -> ChainReport:
        key = await asyncio.to_thread(create_key, self.home)
        return await self.db.transact(verify_chain, key, await self.head())

    async def head(self) -> ChainLink:
        return await asyncio.to_thread(load_head, self.home)

    async def breaks(self) -> tuple[ChainBreak, ...]:
        return (await self.verify()).breaks


@pytest.fixture
def log(database: Database, tmp_path: Path) -> Log:
    return Log(database, tmp_path)


async def test_an_untouched_log_is_intact(log: Log) -> None:
    await log.add(3)
    await log.record(2, at=2000.0)
    report = await log.verify()
    assert (report.sealed, report.unsealed, report.oldest_unsealed) == (3, 2, 2000.0)
    assert report.breaks == ()
    await log.sealer.seal()
    report = await log.verify()
    assert (report.sealed, report.unsealed, report.last.position) == (5, 0, 5)
    assert report.last == await log.head()


async def test_an_empty_log_is_intact(log: Log) -> None:
    assert await log.sealer.seal() == 0
    assert await log.verify() == ChainReport(0, 0, 0, 0.0, ChainLink(), ChainLink(), ())


FORGERIES: dict[str, tuple[str, tuple[ChainBreak, ...]]] = {
    "a changed detail": (
        "UPDATE audit SET detail = 'other' WHERE position = 2",
        (ChainBreak(2, 2, "changed: detail"),),
    ),
    "a changed person": (
        "UPDATE audit SET person = 'telegram:9' WHERE position = 3",
        (ChainBreak(3, 3, "changed: person"),),
    ),
    "a changed action": (
        "UPDATE audit SET action = 'take' WHERE position = 1",
        (ChainBreak(1, 1, "changed"),),
    ),
    "a changed time": ("UPDATE audit SET at = at + 1 WHERE position = 2", (ChainBreak(2, 2, "changed"),)),
    "a changed account": (
        "UPDATE audit SET account = 'x' WHERE position = 2",
        (ChainBreak(2, 2, "changed"),),
    ),
    "a deleted event": ("DELETE FROM audit WHERE position = 2", (ChainBreak(2, 2, "deleted"),)),
    "deleted first events": ("DELETE FROM audit WHERE position <= 2", (ChainBreak(1, 2, "deleted"),)),
    "deleted last events": (
        "DELETE FROM audit WHERE position >= 4",
        (ChainBreak(4, 5, "deleted at the end of the log"),),
    ),
    "an empty log": ("DELETE FROM audit", (ChainBreak(1, 5, "deleted at the end of the log"),)),
    "no commitments": (
        "UPDATE audit SET commitments = '' WHERE position = 5",
        (ChainBreak(5, 5, "changed"),),
    ),
    "no seal": ("UPDATE audit SET seal = '' WHERE position = 5", (ChainBreak(5, 5, "changed"),)),
    "a forged anchor": (
        "UPDATE audit_anchor SET position = 2, mac = 'forged', "
        "seal = (SELECT seal FROM audit WHERE position = 2)",
        (
            ChainBreak(0, 2, "2 inserted before the start of the log"),
            ChainBreak(2, 2, "start of the log changed"),
        ),
    ),
    "an inserted event": (
        "INSERT INTO audit (key, at, action, position, seal, commitments) SELECT 'forged', at, action, "
        "position, seal, commitments FROM audit WHERE position = 3",
        (ChainBreak(3, 3, "inserted"),),
    ),
}


@pytest.mark.guard(
    "the seal of an audit event covers its action",
    "bot/features/privacy/audit_chain.py",
    "row.account, row.action, digests]",
    "row.account, digests]",
    against="changes of the audit log",
)
@pytest.mark.guard(
    "the seal of an audit event covers its personal fields",
    "bot/features/privacy/audit_chain.py",
    "        if changed:\n",
    "        if False:\n",
    against="changes of the audit log",
)
@pytest.mark.guard(
    "a gap in the audit log is reported",
    "bot/features/privacy/audit_chain.py",
    "        if row.position > expected:\n",
    "        if False:\n",
    against="changes of the audit log",
)
@pytest.mark.guard(
    "a cut at the end of the audit log is reported",
    "bot/features/privacy/audit_chain.py",
    "    if last.position < head.position:\n",
    "    if False:\n",
    against="changes of the audit log",
)
@pytest.mark.guard(
    "the start of the audit log can't be forged",
    "bot/features/privacy/audit_chain.py",
    '    mac = _anchor_mac(key, anchor) if anchor.position else ""\n',
    '    mac = found.mac if found is not None else ""\n',
    against="changes of the audit log",
)
@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forgery_is_found(log: Log, name: str) -> None:
    statement, expected = FORGERIES[name]
    await log.add(5)
    assert await log.breaks() == ()
    await log.forge(statement)
    found = [one for one in await log.breaks() if one.problem != "replaced since the end was recorded"]
    assert tuple(found) == expected


@pytest.mark.guard(
    "sealing the audit log needs the key",
    "bot/features/privacy/audit_chain.py",
    "    return hmac.new(key, ",
    '    return hmac.new(b"", ',
    against="changes of the audit log",
)
async def test_a_rewritten_chain_needs_the_key(log: Log, tmp_path: Path) -> None:
    await log.add(3)
    await log.forge("UPDATE audit SET position = 0, detail = 'other' WHERE position = 3")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    await asyncio.to_thread(store_head, elsewhere, ChainLink(2, ""))
    await AuditSealer(log.db, log.clock, elsewhere).seal()
    assert ChainBreak(3, 3, "changed") in await log.breaks()


@pytest.mark.guard(
    "a cut audit log does not grow over the gap",
    "bot/features/privacy/audit_chain.py",
    "    last = max(_last_link(connection), head, key=lambda link: link.position)\n",
    "    last = _last_link(connection)\n",
    against="changes of the audit log",
)
async def test_what_was_cut_off_stays_visible_when_the_log_grows(log: Log) -> None:
    await log.add(5)
    await log.forge("DELETE FROM audit WHERE position >= 4")
    await log.add(2)
    report = await log.verify()
    assert report.breaks == (ChainBreak(4, 5, "deleted"),)
    assert report.last.position == 7


async def test_a_database_that_is_ahead_of_the_recorded_end_is_intact(log: Log) -> None:
    await log.add(2)
    head = await log.head()
    await log.add(2)
    await asyncio.to_thread(
        store_head, log.home, head
    )  # as after a kill between the transaction and the file
    assert await log.breaks() == ()
    await log.add(1)
    assert await log.breaks() == ()
    assert (await log.head()).position == 5


async def test_old_events_are_deleted_and_the_rest_stays_provable(log: Log) -> None:
    await log.add(3, at=100.0)
    await log.add(2, at=200 * DAY)
    log.clock.set(100.0 + 399 * DAY)
    assert await log.sealer.purge() == 0
    log.clock.set(100.0 + 401 * DAY)
    assert await log.sealer.purge() == 3
    assert await log.sealer.purge() == 0
    report = await log.verify()
    assert (report.sealed, report.anchor.position, report.breaks) == (2, 3, ())
    assert len(await log.db.transact(list_audit_entries)) == 2
    await log.forge("DELETE FROM audit WHERE position = 4")
    assert await log.breaks() == (ChainBreak(4, 4, "deleted"),)


async def test_a_log_that_is_purged_completely_grows_again(log: Log) -> None:
    await log.add(3, at=100.0)
    log.clock.set(100.0 + 401 * DAY)
    assert await log.sealer.purge() == 3
    assert await log.breaks() == ()
    await log.add(1, at=log.clock.now())
    report = await log.verify()
    assert (report.sealed, report.last.position, report.breaks) == (1, 4, ())


async def test_masked_fields_leave_the_chain_intact(log: Log) -> None:
    await log.add(2)
    await log.record(1)
    entries = await log.db.transact(list_audit_entries)
    await log.db.transact(mask_events, [one.id for one in entries[:2]], ["name", "detail"])
    await log.db.transact(mask_events, [], ["name"])
    await log.sealer.seal()
    report = await log.verify()
    assert (report.sealed, report.masked, report.breaks) == (3, 1, ())
    shown = [
        (one.name, one.deed.detail, one.deed.subject) for one in await log.db.transact(list_audit_entries)
    ]
    assert shown == [
        (MASK, MASK, "telegram:8"),
        (MASK, MASK, "telegram:8"),
        ("Ann", "secret word", "telegram:8"),
    ]


@pytest.mark.guard(
    "an erased field of an audit event holds no other text",
    "bot/features/privacy/audit_chain.py",
    "if salt else text == MASK",
    "if salt else True",
    against="changes of the audit log",
)
async def test_a_mask_does_not_hide_another_text(log: Log) -> None:
    await log.add(2)
    [entry, _] = await log.db.transact(list_audit_entries)
    await log.db.transact(mask_events, [entry.id], ["detail"])
    await log.forge("UPDATE audit SET detail = 'other' WHERE id = :id", id=entry.id)
    assert await log.breaks() == (ChainBreak(2, 2, "changed: detail"),)


async def test_nothing_of_a_masked_field_is_left(log: Log) -> None:
    await log.add(1)
    [entry] = await log.db.transact(list_audit_entries)
    stored: list[str] = []

    def read(connection: Connection) -> None:
        stored.append(connection.execute(sql("SELECT commitments FROM audit")).scalar_one())

    await log.db.transact(read)
    await log.db.transact(mask_events, [entry.id], ["detail"])
    await log.db.transact(read)
    before, after = ([part.split('"')[0] for part in text.split('"detail": ["')[1:]] for text in stored)
    assert len(before[0]) == 32
    assert after == [""]


async def test_sealing_does_not_wait_for_transactions_that_record_events(log: Log) -> None:
    async def grow() -> None:
        await asyncio.gather(*(log.record(1) for _ in range(20)))

    await log.add(1)
    other = AuditSealer(log.db, log.clock, log.home)
    await asyncio.gather(grow(), log.sealer.seal(), other.seal(), grow(), other.seal(), log.sealer.seal())
    await log.sealer.seal()
    report = await log.verify()
    assert (report.sealed, report.unsealed, report.breaks) == (41, 0, ())


def test_the_key_and_the_recorded_end_are_private_files(tmp_path: Path) -> None:
    key = create_key(tmp_path)
    store_head(tmp_path, ChainLink(1, "seal"))
    for name in ("audit.key", "audit.head"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert create_key(tmp_path) == load_key(tmp_path) == key
    assert key.hex() not in (tmp_path / "audit.head").read_text()


@pytest.mark.parametrize("content", ["", "{}", "abcd", '{"position": []}'])
def test_a_damaged_file_is_not_replaced(tmp_path: Path, content: str) -> None:
    for name, load in (("audit.key", create_key), ("audit.head", load_head)):
        (tmp_path / name).write_text(content)
        with pytest.raises(StoreError, match=rf"{name} is damaged"):
            load(tmp_path)
        assert (tmp_path / name).read_text() == content


async def test_it_seals_every_few_seconds_and_at_the_end(log: Log) -> None:
    await log.verify()  # creates the key, which one process does at its start
    running = asyncio.create_task(log.sealer.run())
    await log.record(1)
    while (await log.verify()).unsealed:
        await log.clock.advance(1.0)
    await log.record(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await log.verify()).sealed == 2
