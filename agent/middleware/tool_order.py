"""Execution of an answer's tool calls in order, wherever one may depend on another.

Langgraph runs each call of an answer as a task of its own, all at once, so a call waits here for the earlier
ones. It waits only for calls that run in the same step: after a crash or a question, langgraph does not run
calls again whose results are stored.

Capable models send dependent calls in one answer, such as writing a file and presenting it. A middleware
before this one could answer a call for which later calls would then wait forever.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.checkpoint_barrier import NESTED, find_saver, locate_checkpoint, wait_for_checkpoint
from agent.core.run_context import RunContext
from agent.core.tool_order import Order, read_order
from agent.middleware.answer_calls import find_open_calls
from agent.middleware.tool_calls import Result, ToolHandler
from agent.shared.recent_items import RecentItems

SERVER = "mcp_server"
"""Key of the metadata of MCP tools: reading calls of a server keep their order with its other calls."""
_RESUMING = "__pregel_resuming"
"""Key of a step's config: whether the run resumes (langgraph has no public way to it)."""
MAX_IDLE = 256
"""Steps that are kept although none of their calls runs; most of them belong to runs that were cancelled."""
MAX_ANSWERS = 1_000
"""Answers whose begun calls are remembered."""
_Key = tuple[str | None, ...]
_Ended = asyncio.Future[bool]
"""The end of a call; False if the step can't go on after it, because it asks a person or has failed."""


class BegunCalls:
    """Records which calls of an answer have started in this process, beyond the end of a stopped step."""

    def __init__(self) -> None:
        self._calls = RecentItems[tuple[str | None, str | None], set[str]](MAX_ANSWERS)

    def add_answer(self, thread: str | None, answer: str | None, *, is_resumed: bool = False) -> set[str]:
        """Return the ids of the answer's started calls, as a set that can be extended.

        An answer that is only known from a resumed step is not remembered: another process may have begun
        any of its calls.
        """
        if is_resumed and (thread, answer) not in self._calls:
            return set()
        return self._calls.setdefault((thread, answer), set())

    def find(self, thread: str | None, answer: str | None) -> frozenset[str] | None:
        """Return the ids of the answer's started calls; None if its calls did not run in this process."""
        begun = self._calls.get((thread, answer))
        return None if begun is None else frozenset(begun)


BEGUN = BegunCalls()


class ToolOrderMiddleware(AgentMiddleware[Any, Any]):
    """Starts each call when the earlier calls it may depend on have finished or failed.

    The tools declare what depends on what (`agent.core.tool_order`). Calls after one that asks a person do
    not run in this step: they run when the answer resumes the run. Calls of different answers, so also those
    of different runs and subagents, never wait for each other. Hook: `wrap_tool_call`; always the first of
    the chain, so that a waiting call holds nothing and each call that runs is seen.
    """

    def __init__(self, *, begun: BegunCalls = BEGUN) -> None:
        super().__init__()
        self._begun = begun
        self._steps: dict[_Key, _Step] = {}

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        key, step = self._find_step(request)
        call_id = request.tool_call["id"] or ""
        begun = self._begun.add_answer(key[0], key[-1], is_resumed=_is_resumed(request))
        place = step.take_place(call_id) if step else None
        if step is None or place is None:
            await _begin_call(begun, request)
            return await handler(request)
        has_ended = False
        step.running += 1
        try:
            if not await step.wait_for_turn(place, request):
                raise GraphInterrupt(())
            await _begin_call(begun, request)
            result = await handler(request)
            has_ended = True
            return result
        finally:
            step.running -= 1
            step.end_call(place, may_go_on=has_ended)
            if step.is_over and self._steps.get(key) is step:
                del self._steps[key]
            self._drop_idle_steps()

    def _drop_idle_steps(self) -> None:
        idle = [key for key, step in self._steps.items() if not step.running]
        for key in idle[: max(0, len(idle) - MAX_IDLE)]:
            del self._steps[key]

    def _find_step(self, request: ToolCallRequest) -> tuple[_Key, _Step | None]:
        """Return a call's step and its key; None for a call without dependencies in either direction.

        A call that has begun before in a step where nothing runs repeats that step, so it begins a new one.
        """
        answer, calls = find_open_calls((request.state or {}).get("messages") or ())
        info = request.runtime.execution_info
        context = RunContext.of(request.runtime)  # type: ignore[arg-type]
        step = (info.checkpoint_ns.rpartition(NESTED)[0], info.checkpoint_id) if info else ()
        key: _Key = (context.thread_id, context.run_id, *step, answer.id if answer else None)
        known = self._steps.get(key)
        if known is not None and (known.running or not known.has_begun(request.tool_call["id"])):
            return key, known
        fresh = _Step(calls, request.runtime.tools) if len(calls) > 1 else None
        if fresh is None or not fresh.has_place(request.tool_call["id"]):
            return key, None
        self._steps[key] = fresh
        return key, fresh


@dataclass(frozen=True, slots=True)
class _Place:
    """A call's place in the order: the completion events it waits for, and its own."""

    call_id: str
    before: Sequence[_Ended]
    ended: _Ended


@dataclass(slots=True)
class _Arrangement:
    """Completion events of the calls so far that later ones may have to wait for."""

    in_turn: list[_Ended] = field(default_factory=list)
    beside: list[_Ended] = field(default_factory=list)
    of_server: dict[str, list[_Ended]] = field(default_factory=lambda: defaultdict(list))
    readers: dict[str, list[_Ended]] = field(default_factory=lambda: defaultdict(list))

    def add(self, tool: BaseTool, ended: _Ended) -> Sequence[_Ended] | None:
        """Return the events that a call of the tool waits for; None if it is independent."""
        order, server = read_order(tool), str((tool.metadata or {}).get(SERVER) or "")
        if order is Order.FREE:
            if not server:
                return None
            self.readers[server].append(ended)
            return self.of_server[server]
        before = list(self.in_turn)
        if order is Order.BESIDE:
            self.beside.append(ended)
            return before
        if order is Order.LAST:
            before += self.beside
        if server:
            before += self.readers.pop(server, [])
            self.of_server[server] = [ended]
        self.in_turn = [ended]
        return before


class _Step:
    """An answer's calls that run in one step, and their dependencies."""

    def __init__(self, calls: Iterable[ToolCall], tools: Sequence[Any]) -> None:
        known = {tool.name: tool for tool in tools if isinstance(tool, BaseTool)}
        loop, arrangement = asyncio.get_running_loop(), _Arrangement()
        self.running = 0
        self._places: list[_Place] = []
        self._reading = asyncio.Lock()
        self._has_read = False
        for call in calls:
            ended: _Ended = loop.create_future()
            # An unknown tool only gets an error, and a tool of the provider is not run here.
            before = arrangement.add(known[call["name"]], ended) if call["name"] in known else None
            if before is not None:
                self._places.append(_Place(call["id"] or "", before, ended))
        self._open = len(self._places)
        self._by_id: dict[str, deque[_Place]] = defaultdict(deque)
        for place in self._places:
            self._by_id[place.call_id].append(place)

    @property
    def is_over(self) -> bool:
        return not self._open

    def has_place(self, call_id: str | None) -> bool:
        """Return whether a call with this id waits for others, or others wait for it."""
        return (call_id or "") in self._by_id

    def has_begun(self, call_id: str | None) -> bool:
        """Return whether all calls with this id have taken their place."""
        return self.has_place(call_id) and not self._by_id[call_id or ""]

    def take_place(self, call_id: str | None) -> _Place | None:
        """Return the place of a starting call, the next one if several have the same id; None if there is
        none.
        """
        places = self._by_id.get(call_id or "")
        return places.popleft() if places else None

    async def wait_for_turn(self, place: _Place, request: ToolCallRequest) -> bool:
        """Wait for the preceding calls; return whether the call may start."""
        if not place.before:
            return True
        async with self._reading:
            if not self._has_read:
                stored = await _read_stored_results(request)
                self._has_read = True
                for other in self._places:
                    if other.call_id in stored:
                        self.end_call(other, may_go_on=True)
        # Unlike a future that is awaited, these are not cancelled with the call that waits.
        await asyncio.wait(place.before)
        return all(one.result() for one in place.before)

    def end_call(self, place: _Place, *, may_go_on: bool) -> None:
        """Let the following calls start, or give up."""
        if not place.ended.done():
            place.ended.set_result(may_go_on)
            self._open -= 1


async def _begin_call(begun: set[str], request: ToolCallRequest) -> None:
    """Record that a call starts, after its answer is stored, so that a stop doesn't lose the call."""
    await wait_for_checkpoint(request.runtime.execution_info)
    begun.add(request.tool_call["id"] or "")


def _is_resumed(request: ToolCallRequest) -> bool:
    return (request.runtime.config.get("configurable") or {}).get(_RESUMING) is True


async def _read_stored_results(request: ToolCallRequest) -> set[str]:
    """Return the ids of the calls whose results were stored by an earlier attempt at the step."""
    saver, step = find_saver(request.runtime.config), request.runtime.execution_info
    if not _is_resumed(request) or step is None or saver is None:
        return set()
    found = await saver.aget_tuple(locate_checkpoint(step))
    written = [value for _, _, value in found.pending_writes or ()] if found else []
    messages = [one for value in written for one in (value if isinstance(value, list) else [value])]
    return {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
