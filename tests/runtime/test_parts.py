"""Small parts: lanes, faults, encoding, redaction, ids, the writer, reading a log beside its live tail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import DataError
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk, HumanMessage
from sqlalchemy import text

from agent.errors import HomeInUse, Invalid, NotFound
from agent.runtime.domain import (
    START,
    Assistant,
    AttemptOutcome,
    EventId,
    MultitaskStrategy,
    NewRun,
    RunSpec,
    RunStatus,
    Thread,
    ThreadStatus,
    parse_event_id,
    require_uuid,
)
from agent.runtime.encode import MessageEncoder, dumps
from agent.runtime.event_log import EventReader, RunChannel, encode_frame, event_name, split_frames
from agent.runtime.failures import describe_exception, redact_secrets, redact_text
from agent.runtime.faults import Faults, RunStep
from agent.runtime.run_queue import RunLanes
from agent.runtime.settings import LogSettings
from agent.runtime.store import assistants, runs, threads
from agent.runtime.store.database import LOCK_EVERY, LOCK_TRIES, RuntimeDatabase
from agent.runtime.store.events import LogChunk
from agent.runtime.store.leases import Lease
from agent.runtime.store.runs import spec_from_bytes, spec_to_bytes
from tests.harness.profile import examples


@dataclass(frozen=True)
class Item:
    """What waits in a lane."""

    thread_id: str
    number: int


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=40), st.integers(1, 3))
def test_lanes_keep_order_and_the_limit(plan: list[tuple[str, bool]], limit: int) -> None:
    lanes: RunLanes[Item] = RunLanes(limit)
    running: list[Item] = []
    seen: dict[str, list[int]] = {}

    def pump() -> None:
        while (item := lanes.take_next()) is not None:
            assert item.thread_id not in {other.thread_id for other in running}
            running.append(item)
            seen.setdefault(item.thread_id, []).append(item.number)
        assert len(running) <= limit

    for number, (thread, finish) in enumerate(plan):
        lanes.add_item(Item(thread, number))
        pump()
        if finish:
            lanes.release_lane(running.pop(0).thread_id)
            pump()
    while running:
        lanes.release_lane(running.pop(0).thread_id)
        pump()
    assert sum(map(len, seen.values())) == len(plan)
    assert all(numbers == sorted(numbers) for numbers in seen.values())


def test_a_lane_is_reserved_only_when_nothing_stands_before() -> None:
    lanes: RunLanes[Item] = RunLanes(2)
    assert lanes.reserve_lane("a")
    assert not lanes.reserve_lane("a")
    assert lanes.reserve_lane("b")
    assert not lanes.reserve_lane("c")
    waiting = Item("c", 1)
    lanes.add_item(waiting)
    lanes.release_lane("a")
    assert not lanes.reserve_lane("a")
    assert lanes.remove_item(waiting)
    assert not lanes.remove_item(waiting)
    assert lanes.reserve_lane("a")


def test_faults_kill_at_the_planned_visit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    faults = Faults("mid_stream:2", kill=lambda: killed.append(1))
    faults.reach(RunStep.RUN_STORED)
    faults.reach(RunStep.MID_STREAM)
    assert killed == []
    faults.reach(RunStep.MID_STREAM)
    assert killed == [1]
    faults.reach(RunStep.MID_STREAM)
    assert killed == [1]
    monkeypatch.setenv("ROEBOT_AGENT_FAULT", "nowhere")
    with pytest.raises(ValueError, match="nowhere"):
        Faults.from_environment()


class Pair(NamedTuple):
    """A tuple with names."""

    left: int
    right: str


class Odd:
    """Something that only `str` can write."""

    def __str__(self) -> str:
        return "odd"


class WithDict:
    """Something that says how it is written."""

    def to_dict(self) -> dict[str, int]:
        """As data."""
        return {"x": 1}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({1: {"a", "b"} - {"b"}}, {"1": ["a"]}),
        (Pair(1, "x"), {"left": 1, "right": "x"}),
        (ValueError("no"), {"error": "ValueError", "message": "no"}),
        (b"\xff", "\ufffd"),
        (Odd(), "odd"),
        (WithDict(), {"x": 1}),
        (
            {"a": "\ud800x", "b": (1, None, 2**70), "c": Odd()},
            {"a": "?x", "b": [1, None, 2**70], "c": "odd"},
        ),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (float("nan"), None),
    ],
)
def test_any_data_becomes_json(value: Any, expected: Any) -> None:
    assert json.loads(dumps(value)) == expected


def test_messages_are_written_as_their_fields() -> None:
    encoder = MessageEncoder()
    metadata = {"node": "call"}
    first = orjson.loads(encoder.encode_pair(AIMessageChunk(content="a", id="1"), metadata))
    second = orjson.loads(encoder.encode_pair(HumanMessage(content="b"), metadata))
    assert (first[0]["type"], first[0]["content"], first[1]) == ("AIMessageChunk", "a", metadata)
    assert (second[0]["type"], second[1]) == ("human", metadata)
    odd = orjson.loads(encoder.encode_pair(HumanMessage(content="\ud800"), {"other": 1}))
    assert odd[0]["content"] == "?"
    assert odd[1] == {"other": 1}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-abcdefghijklmnopqrst is bad", "key [redacted] is bad"),
        ("Authorization: Bearer abc.def-ghi12345", "Authorization: [redacted]"),
        ("postgres://user:secret@host/db", "postgres://[redacted]@host/db"),
        ("api_key='abcdef123456'", "[redacted]'"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_secrets_are_redacted(text: str, clean: str) -> None:
    assert redact_secrets(text) == clean


def test_long_errors_are_cut_and_empty_ones_named() -> None:
    assert len(redact_text("x" * 5000)) == 2001
    assert describe_exception(KeyError()) == {"error": "KeyError", "message": "KeyError"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1-1", EventId(1, 1)),
        ("-1", START),
        ("0", START),
        ("0-1", None),
        ("1-0", None),
        ("1-1-1", None),
        ("", None),
    ],
)
def test_event_ids(text: str, expected: EventId | None) -> None:
    assert parse_event_id(text) == expected
    if expected not in (None, START):
        assert str(expected) == text


def test_uuids_are_canonical_or_refused() -> None:
    assert require_uuid("0B1F9C3E000040008000000000000001", "id") == "0b1f9c3e-0000-4000-8000-000000000001"
    for bad in ("x", None, 3):
        with pytest.raises(Invalid):
            require_uuid(bad, "id")


@pytest.mark.parametrize("value", [None, {}, [], False, 0, {"a": [1]}])
def test_specs_survive_storage(value: Any) -> None:
    spec = RunSpec(
        "g", "a", input=value, interrupt_before=("x",), interrupt_after="*", stream_mode=("updates",)
    )
    assert spec_from_bytes(spec_to_bytes(spec)) == spec


async def open_database(path: Path) -> RuntimeDatabase:
    """Open a database."""
    database = RuntimeDatabase(path)
    await database.open()
    return database


async def test_one_failing_job_does_not_undo_its_neighbours(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "a.db")
    try:
        rows = [Thread(f"t{n}", ThreadStatus.IDLE, {}, 1.0, 1.0, 1.0) for n in (1, 2, 1, 3)]
        results = await asyncio.gather(
            *(database.write(threads.create_thread, row, if_exists="raise") for row in rows),
            return_exceptions=True,
        )
        assert [type(result).__name__ for result in results] == ["Thread", "Thread", "Conflict", "Thread"]
        assert [(await database.read(threads.get_thread, f"t{n}")).thread_id for n in (1, 2, 3)] == [
            "t1",
            "t2",
            "t3",
        ]
    finally:
        await database.close()


async def test_a_home_has_one_owner_and_an_older_program_refuses_a_newer_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database = await open_database(path)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with pytest.raises(HomeInUse, match="another process uses"):
        await RuntimeDatabase(path, sleep=sleep).open()
    assert sum(waits) == pytest.approx(LOCK_EVERY * (LOCK_TRIES - 1))
    await database.write(lambda connection: connection.execute(text("PRAGMA user_version = 99")))
    await database.close()
    with pytest.raises(HomeInUse, match="version 99"):
        await RuntimeDatabase(path).open()


async def test_a_home_is_taken_over_from_a_process_that_ends(tmp_path: Path) -> None:
    first = await open_database(tmp_path / "a.db")

    async def end(_seconds: float) -> None:
        await first.close()

    second = RuntimeDatabase(tmp_path / "a.db", sleep=end)
    await second.open()
    await second.close()


async def test_assistants_of_an_older_database_have_a_version(tmp_path: Path) -> None:
    made = Assistant("a", "chat", "One", 1.0, 2.0, config={"tags": ["t"]}, version=3)
    database = await open_database(tmp_path / "a.db")
    await database.write(assistants.put_assistant, made)
    await database.write(lambda connection: connection.execute(text("DROP TABLE assistant_versions")))
    await database.write(lambda connection: connection.execute(text("PRAGMA user_version = 2")))
    await database.close()
    database = await open_database(tmp_path / "a.db")
    try:
        versions = await database.read(assistants.list_versions, "a")
        assert [(item.version, item.name, item.config) for item in versions] == [(3, "One", made.config)]
    finally:
        await database.close()


async def test_a_run_that_ended_can_not_start_again(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "a.db")
    try:
        new = NewRun("r", "t", RunSpec("g", "a"), MultitaskStrategy.ENQUEUE, if_not_exists="create")
        run = (await database.write(runs.add_run, new, owner="here", now=1.0, start=True, chunk=None)).run
        await database.write(runs.finish_run, run, AttemptOutcome(RunStatus.SUCCESS), now=1.0, chunk=None)
        assert not await database.write(runs.start_run, run, now=1.0, chunk=None)
        await database.write(threads.erase_thread, "t")
        with pytest.raises(NotFound):
            await database.read(runs.get_run, "t", "r")
    finally:
        await database.close()


class MemoryLog:
    """An event log whose writes are acknowledged when the test says so."""

    def __init__(self) -> None:
        self.chunks: list[LogChunk] = []
        self.waiting: list[tuple[LogChunk, Callable[[Any, BaseException | None], None]]] = []

    def append_chunk(
        self, run_id: str, chunk: LogChunk, done: Callable[[Any, BaseException | None], None]
    ) -> None:
        """Keep the write back."""
        self.waiting.append((chunk, done))

    def commit(self) -> None:
        """Acknowledge the oldest write."""
        if self.waiting:
            chunk, done = self.waiting.pop(0)
            self.chunks.append(chunk)
            done(None, None)

    async def read_events(self, run_id: str, after: EventId, limit: int) -> Sequence[LogChunk]:
        """Chunks after an event."""
        return [chunk for chunk in self.chunks if (chunk.attempt, chunk.last) > after][: min(limit, 2)]

    async def has_event(self, run_id: str, event_id: EventId) -> bool:
        """Whether it is there."""
        return any(
            chunk.attempt == event_id.attempt and chunk.first <= event_id.seq <= chunk.last
            for chunk in self.chunks
        )


STEPS = st.lists(st.sampled_from(["emit", "emit", "emit", "commit", "turn", "join"]), min_size=1, max_size=60)


@settings(max_examples=examples(150), deadline=None)
@given(STEPS, st.integers(0, 200), st.integers(0, 30), st.booleans())
def test_log_and_live_tail_join_without_gap_or_repeat(
    steps: list[str], tail_bytes: int, start: int, second_attempt: bool
) -> None:
    asyncio.run(_joined(steps, tail_bytes, start, second_attempt))


async def _joined(steps: list[str], tail_bytes: int, start: int, second_attempt: bool) -> None:
    log = MemoryLog()
    earlier: list[str] = []
    if second_attempt:
        frames = [encode_frame("old", b"%d" % n, EventId(1, n)) for n in (1, 2, 3)]
        log.chunks = [LogChunk(1, 1, 2, b"".join(frames[:2])), LogChunk(1, 3, 3, frames[2])]
        earlier = ["1-1", "1-2", "1-3"]
    attempt = 2 if second_attempt else 1
    bounds = LogSettings(tail_bytes=tail_bytes)
    channel = RunChannel(Lease("r", "here", 1), resumable=True, log=log, settings=bounds, pause=lambda: 0.0)
    channel.start_attempt(attempt)
    readers: list[tuple[EventId, asyncio.Task[bytes]]] = []

    def join(after: EventId) -> None:
        reader = EventReader(
            "r", channel=channel, log=log, heartbeat=60, after=after, status=lambda: "running"
        )
        readers.append((after, asyncio.create_task(_everything(reader))))

    join(START)
    numbers: Iterator[int] = iter(range(10_000))
    for step in steps:
        if step == "emit":
            channel.emit_event("e", b"%d" % next(numbers))
        elif step == "commit":
            log.commit()
        elif step == "turn":
            await asyncio.sleep(0)
        else:
            seq = min(start, channel.head.seq)
            join(EventId(attempt, seq) if seq else START)
    while log.waiting:
        log.commit()
    await channel.wait_written()
    rest, chunk = channel.seal_with("end", b"{}")
    assert chunk is not None
    log.chunks.append(chunk)
    channel.publish(rest)
    channel.close()
    last = channel.head.seq
    for after, task in readers:
        got = [line[4:].decode() for line in (await task).splitlines() if line.startswith(b"id: ")]
        own = [f"{attempt}-{n}" for n in range(after.seq + 1, last + 1)]
        assert got == (earlier + own if after == START else own)


async def _everything(reader: EventReader) -> bytes:
    return b"".join([batch async for batch in reader.read_batches()])


class PrunedLog(MemoryLog):
    """Forgets everything after its first answer."""

    async def read_events(self, run_id: str, after: EventId, limit: int) -> Sequence[LogChunk]:
        """Chunks, once."""
        found = await super().read_events(run_id, after, limit)
        self.chunks = []
        return found


async def test_a_log_that_is_pruned_while_it_is_read_gives_a_gap() -> None:
    log = PrunedLog()
    log.chunks = [LogChunk(1, n, n, encode_frame("e", b"%d" % n, EventId(1, n))) for n in range(1, 5)]
    reader = EventReader(
        "r", channel=None, log=log, heartbeat=60, after=EventId(1, 1), status=lambda: "success"
    )
    await reader.check_position(EventId(1, 1), unknown=False)
    names = [event_name(item) for item in split_frames(await _everything(reader))]
    assert names == ["e", "e", "gap", "end"]


async def test_events_that_cannot_be_written_now_are_written_later() -> None:
    log = MemoryLog()
    channel = RunChannel(
        Lease("r", "here", 1),
        resumable=True,
        log=log,
        settings=LogSettings(pending_bytes=1),
        pause=lambda: 0.008,
    )
    channel.start_attempt(1)
    channel.emit_event("e", b"1")
    log.waiting.pop()[1](None, OSError("disk full"))
    channel.emit_event("e", b"2")
    assert channel.is_full
    assert channel.head == EventId(1, 0)
    waiting = asyncio.create_task(channel.wait_for_room())
    while not log.waiting:
        await asyncio.sleep(0.01)
    assert not waiting.done()
    log.commit()
    await waiting
    assert channel.head == EventId(1, 2)
    assert split_frames(log.chunks[0].body) == channel.frames_after(0)


async def test_events_that_cannot_be_stored_at_all_end_the_run_with_the_reason() -> None:
    log = MemoryLog()
    channel = RunChannel(
        Lease("r", "here", 1),
        resumable=True,
        log=log,
        settings=LogSettings(pending_bytes=1),
        pause=lambda: 0.008,
    )
    channel.start_attempt(1)
    channel.emit_event("e", b"1")
    log.waiting.pop()[1](None, DataError("string or blob too big"))
    assert channel.is_full
    with pytest.raises(DataError, match="too big"):
        await channel.wait_for_room()
    channel.emit_event("error", b"{}")
    await asyncio.sleep(0.02)
    log.commit()
    assert [event_name(frame) for frame in channel.frames_after(0) or ()] == ["error"]
    assert channel.head == EventId(1, 1)


def test_frames_are_split_as_they_were_made() -> None:
    made = [encode_frame("a|b", b'{"x":"\\r\\n\\r\\n"}', EventId(1, 1)), encode_frame("end", b"{}", None)]
    assert split_frames(b"".join(made)) == made
    assert [event_name(item) for item in made] == ["a|b", "end"]
