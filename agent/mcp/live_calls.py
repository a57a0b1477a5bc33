"""Calls that stay open while a person is asked for input, even after the run that made them has ended.

The server waits in the middle of a call, but langgraph ends the run with the question and runs the tool again
from its start with the answer. So the call is kept by the step of the run that made it, with its questions:

    tool ── call starts ── question ── interrupt ──> run ends ── answer ──> tool again ── result
    call    └───────────── waits for the answer ──────────────────────────┘ goes on

The call is lost with its session: the answer then ends it with an error, since a second call could repeat
what the first one did.

A question does not name its call, so it belongs to the only one that is running. If several are, it is
cancelled, and the conversation's calls to this server run one after the other from then on. Servers with a
shared session can't ask.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.runtime import get_runtime
from langgraph.types import interrupt

from agent.core.checkpoint_barrier import find_saver
from agent.core.run_context import RunContext
from agent.errors import McpCallFailed
from agent.mcp.call_watch import CallTimer, Report
from agent.mcp.form import Declined, fill_form
from agent.mcp.form_words import FormWords, words_for

ANSWER_SECONDS = 3_600.0
"""Seconds after which a question counts as not answered."""
KEPT_CALLS = 200
LOST = "ended while a person was asked; the call may have had an effect. Call the tool again if it is needed."
BUSY = "waits for a person's answer in another call. Call the tool again afterwards."
Answer = dict[str, Any]
"""A result of `elicitation/create`: `action` accept, decline or cancel, and `content`."""
CANCEL: Answer = {"action": "cancel"}
Start = Callable[[CallTimer, Report], Coroutine[Any, Any, Any]]


@dataclass(slots=True, eq=False)
class ServerQuestion:
    """A question of a server: a form with `schema`, or a link with `url`."""

    message: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


def read_question(params: Mapping[str, Any]) -> ServerQuestion | None:
    """Return the question of an `elicitation/create`, or None if its URL is not HTTP or HTTPS."""
    message, url, schema = (params.get(key) for key in ("message", "url", "requestedSchema"))
    text = message if isinstance(message, str) else ""
    if params.get("mode") != "url":
        return ServerQuestion(text, schema if isinstance(schema, Mapping) else {})
    is_usable = isinstance(url, str) and url.startswith(("https://", "http://"))
    return ServerQuestion(text, url=str(url)) if is_usable else None


@dataclass(frozen=True, slots=True)
class CallStep:
    """A tool call of a run: `checkpoint_id` is the same for those of one answer, `task_id` is its own.

    Both stay the same when the tool runs again with an answer.
    """

    thread_id: str
    checkpoint_id: str
    task_id: str


class LiveCall:
    """A call with the questions that it has asked."""

    def __init__(self, step: CallStep, start: Start, report: Report) -> None:
        self.step = step
        self.questions: list[ServerQuestion] = []
        self.report = report
        """Shows progress in the run that goes on with the call now."""
        self._timer = CallTimer()
        self._changed = asyncio.Event()
        self.task = asyncio.create_task(start(self._timer, self._report_here))
        self.task.add_done_callback(self._end)

    @property
    def open_question(self) -> ServerQuestion | None:
        """Return the question that waits for an answer."""
        return next((one for one in self.questions if not one.answer.done()), None)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._changed.set()
        if not task.cancelled():
            # A call whose run never collects its result is not an error of the event loop.
            task.exception()

    def _report_here(self, progress: float | None, total: float | None, message: str | None) -> None:
        self.report(progress, total, message)

    async def ask(self, question: ServerQuestion) -> Answer:
        """Wait for a person's answer; the call's time stands still. Without one in time: cancel."""
        self.questions.append(question)
        self._changed.set()
        self._timer.stop()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.shield(question.answer)
        except TimeoutError:
            question.answer.cancel()
            return CANCEL
        finally:
            self._timer.restart()

    async def wait(self) -> None:
        """Wait until the call has ended or asks."""
        while not self.task.done() and self.open_question is None:
            self._changed.clear()
            await self._changed.wait()


class LiveCalls:
    """The calls of a server that can ask, by the step of the run that made each."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._calls: OrderedDict[CallStep, LiveCall] = OrderedDict()
        self._has_asked = False

    def find_asker(self, thread_id: str) -> LiveCall | None:
        """Return the call of a thread that a question of its session belongs to.

        None if several are running, since the server doesn't say which one asks. From then on, calls of a
        thread are made one after the other.
        """
        self._has_asked = True
        running = self._running_calls(thread_id)
        return running[0] if len(running) == 1 else None

    async def run(self, step: CallStep, start: Start, report: Report) -> Any:
        """Make a call, or go on with the one that this step has made. Raises GraphInterrupt to ask."""
        call = self._calls.get(step)
        if call is None:
            if _was_answered():
                raise McpCallFailed(LOST, server=self._server)
            self._end_abandoned(step)
            await self._wait_for_turn(step.thread_id)
            call = self._open(step, start, report)
        call.report = report
        try:
            return await self._converse(call, step)
        except asyncio.CancelledError:
            call.task.cancel()
            self._calls.pop(step, None)
            raise

    def close(self) -> None:
        for call in self._calls.values():
            call.task.cancel()
        self._calls.clear()

    def _running_calls(self, thread_id: str) -> list[LiveCall]:
        calls = self._calls.values()
        return [one for one in calls if one.step.thread_id == thread_id and not one.task.done()]

    def _end_abandoned(self, step: CallStep) -> None:
        """End the calls of the thread that wait for a person although the thread has gone on."""
        for known, call in list(self._calls.items()):
            is_earlier = known.thread_id == step.thread_id and known.checkpoint_id != step.checkpoint_id
            if is_earlier and (call.task.done() or call.open_question is not None):
                call.task.cancel()
                del self._calls[known]

    async def _wait_for_turn(self, thread_id: str) -> None:
        """If the server has asked questions, wait until no other call of the thread is running.

        Raises McpCallFailed if one waits for a person: the run can't stop for that before this call ends.
        """
        while self._has_asked and (running := self._running_calls(thread_id)):
            if running[0].open_question is not None:
                raise McpCallFailed(BUSY, server=self._server)
            await running[0].wait()

    def _open(self, step: CallStep, start: Start, report: Report) -> LiveCall:
        while len(self._calls) >= KEPT_CALLS:
            _, oldest = self._calls.popitem(last=False)
            oldest.task.cancel()
        self._calls[step] = call = LiveCall(step, start, report)
        return call

    async def _converse(self, call: LiveCall, step: CallStep) -> Any:
        words = words_for(RunContext.of().locale)
        asked = 0
        while True:
            if any(one.answer.cancelled() for one in call.questions):
                del self._calls[step]
                return await call.task
            # The answers of earlier runs of the tool come first, in the order of the questions.
            while asked < len(call.questions):
                question = call.questions[asked]
                answer = ask_person(question, self._server, words)
                asked += 1
                if not question.answer.done():
                    question.answer.set_result(answer)
            await call.wait()
            if asked == len(call.questions) and call.task.done():
                del self._calls[step]
                return call.task.result()


def ask_person(question: ServerQuestion, server: str, words: FormWords) -> Answer:
    """Ask in the current run and return the answer. Raises GraphInterrupt while there is none."""
    message = words.asks.format(server=server, message=question.message.strip())

    def ask(text: str, options: Any, context: str) -> str:
        value = {"type": "clarification", "kind": "missing_info", "question": text, "options": list(options)}
        given = interrupt({**value, "context": context or None})
        answer = given.get("answer", "") if isinstance(given, Mapping) else given
        return str(answer if answer is not None else "")

    try:
        if question.url:
            link = f"{message}\n{words.link.format(url=question.url)}"
            chosen = ask(link, [words.done, words.decline], "")
            return {"action": "decline" if chosen.strip() == words.decline else "accept"}
        content = fill_form(message, question.schema, ask, words)
    except Declined:
        return {"action": "decline"}
    return {"action": "accept", "content": content}


def current_step() -> CallStep | None:
    """Return the step of the current run, or None if a person can't be asked."""
    try:
        info = getattr(get_runtime(), "execution_info", None)
        saver = find_saver(get_config())
    except (RuntimeError, KeyError):
        return None
    # Without a saver langgraph can't interrupt.
    if info is None or not info.thread_id or saver is None:
        return None
    return CallStep(info.thread_id, info.checkpoint_id, info.task_id)


def _was_answered() -> bool:
    """Return whether the step runs again because a person has answered its first question.

    Only a step that makes its call may look: it stops at the first question, and makes none when it runs
    again, so that the extra look does not shift the order of the answers.
    """
    try:
        interrupt(None)
    except GraphInterrupt:
        return False
    return True
