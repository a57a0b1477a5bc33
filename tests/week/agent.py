"""The agent of the simulated week: runs that do what the messages say, in a process that outlives the bot's
and dies now and then itself.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from agent.shared.aio import wait_first
from agent.shared.envelope import without_envelopes
from agent.shared.schemas import ConfigProblem
from bot.errors import RunMissing, RuntimeUnreachable
from bot.runtime.interface import AttemptStarted, LoggedEvent, RunInterrupted, RunRequest, ThreadAnswer
from roebot_testing.clock import ManualClock
from roebot_testing.runtime import ScriptedRun, ScriptedRuntime
from tests.week.agent_actions import DOING, Cut, Doing, Job, Over

KEY = re.compile(r'(?<!")#[ms]\d+')
"""A message's own key; what is quoted from others stands in quotes."""
VERB = re.compile(r'(?<!")#[ms]\d+ (\w+)')
TRAVEL = (0.005, 0.06)
BREAKS = 0.01
"""How often the stream of a run's events breaks, for each event."""


@dataclass
class Thread:
    """What the runtime keeps of a thread: its runs, and the interrupt that stands."""

    runs: list[str] = field(default_factory=list)
    standing: str = ""


@dataclass
class Agent:
    """The runtime's side. Every table is by run id where nothing else is said."""

    clock: ManualClock
    chance: random.Random
    runs: dict[str, ScriptedRun] = field(default_factory=dict)
    by_key: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    checkpoints: dict[str, str | None] = field(default_factory=dict)
    threads: defaultdict[str, Thread] = field(default_factory=lambda: defaultdict(Thread))
    requests: dict[str, RunRequest] = field(default_factory=dict)
    created: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    """The run that asked, by the interrupt's id."""
    failed: set[str] = field(default_factory=set)
    """Runs that came to nothing."""
    approvals: set[str] = field(default_factory=set)
    """Interrupts that not everybody may answer."""
    resumed: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The runs that took an answer, by the interrupt's id."""
    discarded: list[tuple[str, str]] = field(default_factory=list)
    """Runs that began plainly on a thread where an interrupt stood, and that interrupt."""
    repeated: int = 0
    deaths: int = 0
    broken: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._up = asyncio.Event()
        self._up.set()
        self._work: set[asyncio.Task[None]] = set()

    @property
    def down(self) -> bool:
        """Whether its process is away."""
        return not self._up.is_set()

    def dies(self) -> None:
        """Its process ends; what ran is cut off."""
        self._up.clear()
        self.deaths += 1

    def returns(self) -> None:
        """Its process is back, and takes up what was cut off."""
        self._up.set()

    async def ends(self) -> None:
        """Nothing runs any more."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def begin(self, run: ScriptedRun) -> None:
        """A run was created."""
        request = run.request
        thread = self.threads[request.thread_id]
        answers = bool(request.answers) and request.answers == thread.standing
        if answers:
            self.resumed[request.answers].append(run.id)
        elif thread.standing and not request.checkpoint:
            self.discarded.append((run.id, thread.standing))
        thread.standing = ""
        self.checkpoints[run.id] = f"before {run.id}" if thread.runs else None
        thread.runs.append(run.id)
        self.requests[run.id], self.created[run.id] = request, self.clock.now()
        task = asyncio.get_running_loop().create_task(self._working(run, answers=answers))
        self._work.add(task)
        task.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.broken.append(error)

    def lose(self, run: ScriptedRun) -> None:
        """The runtime forgets a run."""
        self.runs.pop(run.id, None)
        # Whoever follows it looks again.
        run.emit(AttemptStarted(1))

    def ask(self, run: ScriptedRun, value: Mapping[str, Any]) -> None:
        """The run waits for a word."""
        identity = f"ask-{run.id}"
        self.asked[identity] = run.id
        if value.get("type") == "approval":
            self.approvals.add(identity)
        self.threads[run.request.thread_id].standing = identity
        run.emit(RunInterrupted(identity, value))

    async def _working(self, run: ScriptedRun, *, answers: bool) -> None:
        attempt = 1
        while True:
            job = Job(run, self, self.clock, self.chance, head(run, answers=answers))
            try:
                await self._doing(run, answers=answers)(job)
                break
            except Over:
                break
            except Cut:
                await self._up.wait()
                attempt += 1
                if run.cancelled:
                    break
                run.emit(AttemptStarted(attempt))
        self.ended[run.id] = self.clock.now()

    def _doing(self, run: ScriptedRun, *, answers: bool) -> Doing:
        again = run.request.key.rpartition(":")[2] != "1"
        verbs = [
            verb
            for message in run.request.messages
            for verb in VERB.findall(without_envelopes(message["content"]))
        ]
        wanted = next((verb for verb in verbs if verb in DOING and verb != "say"), "say")
        return DOING["say" if answers or again else wanted]


def head(run: ScriptedRun, *, answers: bool) -> str:
    """How an answer begins: whose messages it answers, and by which run."""
    contents = [without_envelopes(message["content"]) for message in run.request.messages]
    keys = [key for content in contents for key in KEY.findall(content)]
    decided = [f"decided {run.request.answers}", *contents] if answers else []
    return " ".join([*keys, *decided, f"by {run.request.key}:"])


class Line(ScriptedRuntime):
    """The port to the agent in one life of the bot; `over` is set when the bot dies."""

    def __init__(self, agent: Agent, over: asyncio.Event) -> None:
        super().__init__(
            script=agent.begin,
            runs=agent.runs,
            by_key=agent.by_key,
            checkpoints=agent.checkpoints,
            artifacts=agent.artifacts,
        )
        self._agent = agent
        self._over = over

    async def create_run(self, request: RunRequest) -> str:
        await self._travel()
        self._agent.repeated += request.key in self.by_key
        self._reachable()
        if request.key in self.by_key:
            return self.by_key[request.key]
        # Runs that were forgotten have their numbers still.
        run = ScriptedRun(f"run-{len(self._agent.requests) + 1}", request, [AttemptStarted(1)])
        self.runs[run.id] = run
        self.by_key[request.key] = run.id
        self._agent.begin(run)
        await self._travel()
        return run.id

    async def join_run(self, thread_id: str, run_id: str, after: str) -> AsyncIterator[LoggedEvent]:
        async with aclosing(super().join_run(thread_id, run_id, after)) as events:
            async for logged in events:
                if run_id not in self.runs:
                    raise RunMissing(run_id)
                if self._agent.chance.random() < BREAKS:
                    raise RuntimeUnreachable("the connection broke")
                yield logged

    async def cancel_run(self, thread_id: str, run_id: str) -> None:
        await self._travel()
        await super().cancel_run(thread_id, run_id)

    async def read_answer(self, thread_id: str, message_ids: Sequence[str]) -> ThreadAnswer:
        await self._travel()
        self._reachable()
        wanted = set(message_ids)
        for run_id in reversed(self._agent.threads[thread_id].runs):
            given = {str(message["id"]) for message in self._agent.requests[run_id].messages}
            if given & wanted and run_id in self._agent.answers:
                return ThreadAnswer((self._agent.answers[run_id],))
        return ThreadAnswer(())

    async def checkpoint_before(self, thread_id: str, run_id: str) -> str | None:
        await self._travel()
        self._reachable()
        return await super().checkpoint_before(thread_id, run_id)

    async def list_problems(self) -> Sequence[ConfigProblem]:
        """As the real port's."""
        return []

    async def close(self) -> None:
        """As the real port's."""

    async def _travel(self) -> None:
        if self._over.is_set():
            raise asyncio.CancelledError
        seconds = self._agent.chance.uniform(*TRAVEL)
        if await wait_first(self._over, self._agent.clock.sleep, seconds):
            raise asyncio.CancelledError

    def _reachable(self) -> None:
        if self._over.is_set():
            raise asyncio.CancelledError
        if self._agent.down:
            raise RuntimeUnreachable("down")
