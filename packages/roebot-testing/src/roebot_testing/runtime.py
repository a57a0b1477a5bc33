"""An agent runtime in memory, for tests of the dispatcher: runs are scripts of events.

It behaves as the interface requires: one run per key, events from any id on, a state to read after a gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.shared.envelope import without_envelopes
from agent.shared.management import Management
from bot.errors import RunMissing, RuntimeRefused, RuntimeUnreachable
from bot.runtime.interface import (
    AttemptStarted,
    CompactionOutcome,
    CompactionRequest,
    CompactionState,
    EventsMissing,
    JoinedMessage,
    LoggedEvent,
    MessageJoined,
    RunEnded,
    RunEvent,
    RunRequest,
    SteerMessage,
    StoredUpload,
    TextDelta,
    ThreadAnswer,
    TokenUsage,
)
from roebot_testing.management import ScriptedManagement


@dataclass(slots=True)
class ScriptedRun:
    """One run with its request and its event log."""

    id: str
    request: RunRequest
    log: list[RunEvent] = field(default_factory=list)
    cancelled: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def emit(self, *events: RunEvent) -> None:
        """Append to the log and notify its readers."""
        self.log.extend(events)
        self.changed.set()

    def say(self, text: str) -> None:
        """Emit a piece of text."""
        self.emit(TextDelta("m1", text))

    def end(self, status: str = "success") -> None:
        """End the run."""
        self.emit(RunEnded(status))


@dataclass(slots=True)
class ScriptedRuntime(ScriptedManagement):
    """`script` is called with every new run; without one the test drives `runs` itself."""

    script: Callable[[ScriptedRun], None] | None = None
    runs: dict[str, ScriptedRun] = field(default_factory=dict)
    by_key: dict[str, str] = field(default_factory=dict)
    answers: dict[str, ThreadAnswer] = field(default_factory=dict)
    inbox: dict[str, dict[str, SteerMessage]] | None = field(default_factory=dict)
    joins: dict[str, tuple[JoinedMessage, ...]] = field(default_factory=dict)
    checkpoints: dict[str, str | None] = field(default_factory=dict)
    used: dict[str, TokenUsage] = field(default_factory=dict)
    uploads: list[tuple[str, str, bytes]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    cut_after: int | None = None
    down_for_answers: int = 0
    deleted: list[str] = field(default_factory=list)
    signed_out: list[str] = field(default_factory=list)
    compacting: Callable[[CompactionRequest], CompactionOutcome] | None = None
    compactions: dict[str, CompactionOutcome] = field(default_factory=dict)
    compaction_requests: list[CompactionRequest] = field(default_factory=list)
    compaction_gate: asyncio.Event | None = None

    @property
    def management(self) -> Management:
        return self

    async def create_run(self, request: RunRequest) -> str:
        self._reachable()
        if request.key in self.by_key:
            return self.by_key[request.key]
        run = ScriptedRun(f"run-{len(self.runs) + 1}", request, [AttemptStarted(1)])
        self.runs[run.id] = run
        self.by_key[request.key] = run.id
        if self.script is not None:
            self.script(run)
        return run.id

    async def find_run(self, thread_id: str, key: str) -> str:
        self._reachable()
        run_id = self.by_key.get(key, "")
        return run_id if run_id in self.runs else ""

    async def join_run(self, thread_id: str, run_id: str, after: str) -> AsyncIterator[LoggedEvent]:
        self._reachable()
        run = self._run(run_id)
        position = int(after) + 1 if after else 0
        if after and position > len(run.log):
            yield LoggedEvent("", EventsMissing())
            position = len(run.log)
        while True:
            while position < len(run.log):
                self._reachable()
                if self.cut_after is not None and position >= self.cut_after:
                    self.cut_after = None
                    raise RuntimeUnreachable("cut")
                event = run.log[position]
                yield LoggedEvent(str(position), event)
                if isinstance(event, RunEnded):
                    return
                position += 1
            run.changed.clear()
            if position == len(run.log):
                await run.changed.wait()

    async def cancel_run(self, thread_id: str, run_id: str) -> None:
        self._reachable()
        run = self.runs.get(run_id)
        if run is not None and not run.cancelled:
            run.cancelled = True
            run.end("interrupted")

    async def read_answer(self, thread_id: str, message_ids: Sequence[str]) -> ThreadAnswer:
        self._reachable()
        if self.down_for_answers:
            self.down_for_answers -= 1
            raise RuntimeUnreachable("down")
        found = self.answers.get(thread_id, ThreadAnswer(()))
        return replace(found, joins=self.joins.get(thread_id, found.joins))

    async def steer(self, thread_id: str, offer: SteerMessage) -> None:
        """Store a message for a running turn; refused with 404 while `inbox` is None."""
        self._reachable()
        if self.inbox is None:
            raise RuntimeRefused(404, "not here")
        self.inbox.setdefault(thread_id, {})[str(offer.message["id"])] = offer

    async def unsteer(self, thread_id: str, message_id: str) -> None:
        self._reachable()
        if self.inbox is not None:
            self.inbox.get(thread_id, {}).pop(message_id, None)

    def take(self, run: ScriptedRun, *, told: bool = True) -> list[str]:
        """Let the run join its inbox and return the texts; without `told` only the thread shows the join."""
        thread, turn = run.request.thread_id, int(run.request.key.partition(":")[0])
        before = [join for join in self.joins.get(thread, ()) if join.id.startswith(f"roebot-{turn}-")]
        known = {join.id for join in before}
        mine = [one for one in self.waiting_offers(thread) if one.turn == turn]
        offers = [one for one in mine if one.message["id"] not in known]
        joins = (*before, *(JoinedMessage(str(one.message["id"])) for one in offers))
        if offers:
            self.joins[thread] = joins
        if offers and told:
            run.emit(MessageJoined(tuple(join.id for join in joins)))
        return [without_envelopes(str(one.message["content"])) for one in offers]

    def waiting_offers(self, thread_id: str) -> list[SteerMessage]:
        """Return the inbox of a thread, in order."""
        return sorted((self.inbox or {}).get(thread_id, {}).values(), key=lambda one: one.number)

    async def compact_thread(self, request: CompactionRequest) -> CompactionOutcome:
        """Call `compacting` once per key, and record the request; without it there are no summaries.

        The result is returned when `compaction_gate`, if any, is set.
        """
        self._reachable()
        self.compaction_requests.append(request)
        if request.key not in self.compactions:
            if not request.starts:
                return CompactionOutcome(CompactionState.BUSY)
            if self.compacting is None:
                return CompactionOutcome(CompactionState.UNAVAILABLE)
            self.compactions[request.key] = self.compacting(request)
        if self.compaction_gate is not None:
            await self.compaction_gate.wait()
        self._reachable()
        return self.compactions[request.key]

    async def checkpoint_before(self, thread_id: str, run_id: str) -> str | None:
        self._run(run_id)
        return self.checkpoints.get(run_id)

    async def upload_file(
        self, thread_id: str, filename: str, content: AsyncIterable[bytes], key: str
    ) -> StoredUpload:
        data = b"".join([chunk async for chunk in content])
        self._reachable()
        self.uploads.append((thread_id, filename, data))
        return StoredUpload(filename, f"/mnt/user-data/uploads/{filename}", len(data))

    async def read_artifact(self, thread_id: str, path: str, limit: int) -> tuple[bytes, str]:
        self._reachable()
        if path not in self.artifacts:
            raise RunMissing("no such artifact")
        return self.artifacts[path], "application/octet-stream"

    async def read_usage(self, thread_id: str, run_id: str = "") -> TokenUsage | None:
        """Return the usage of a run or thread from `used`."""
        self._reachable()
        return self.used.get(run_id or thread_id)

    async def delete_thread(self, thread_id: str) -> None:
        """Record the call in `deleted`."""
        self._reachable()
        self.deleted.append(thread_id)

    async def erase_sign_ins(self, person: str) -> Mapping[str, int]:
        """Record the call in `signed_out`."""
        self._reachable()
        self.signed_out.append(person)
        return {}

    async def compact_storage(self) -> None:
        self._reachable()

    async def is_ready(self) -> bool:
        return not self.down

    def _reachable(self) -> None:
        if self.down:
            raise RuntimeUnreachable("down")

    def _run(self, run_id: str) -> ScriptedRun:
        if run_id not in self.runs:
            raise RunMissing(run_id)
        return self.runs[run_id]


def answer_with(text: str, *, status: str = "success") -> Callable[[ScriptedRun], None]:
    """Return a script that says `text` at once and ends."""

    def script(run: ScriptedRun) -> None:
        run.say(text)
        run.end(status)

    return script


saying = answer_with
"""Former name of `answer_with`."""
