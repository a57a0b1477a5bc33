"""Pauses of subagents that wait for a person: the state is stored, and the lead agent's run asks the
question.

A subagent runs on a saver in memory. When it stops at an interrupt, that state is copied to the thread's own
saver, in a namespace below the step of the `task` call, and the tool interrupts the lead agent's run with the
same question. The answer runs the tool again, also in another process: it finds the state and resumes it.

    lead agent:  task ── interrupt(question) ──> stopped ── answer ──> task again ── …
    subagent:    … tool asks ── state stored ──┘                └── state loaded ── tool goes on ── …

Langgraph returns the answers of a step by the order of its questions, so each one is recorded, before it is
asked, with the state. A later run of the tool skips the answers that the subagent has had.

A native subgraph would do the same, but also stream its tokens and store a checkpoint for each step.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Interrupt, interrupt

from agent.core.checkpoint_barrier import find_saver

SUFFIX = "|subagent"
"""End of the namespaces; langgraph appends an id to the names of subgraphs, so it has none like this."""
ASKED = "__asked__"
"""Channel of the pending writes that record the questions; their tasks are `ASKED` with the position."""


class SubagentPause:
    """The stored state of a `task` call's subagent, and its questions."""

    def __init__(self, stored: BaseCheckpointSaver[Any], thread_id: str, step: str, description: str) -> None:
        self.saver = InMemorySaver()
        self._stored = stored
        self._thread_id = thread_id
        self._namespace = f"{step}{SUFFIX}"
        self._description = description
        self._asked: list[str] = []
        self._answered = 0
        self._latest = ""

    @classmethod
    async def open(cls, runtime: ToolRuntime[Any, Any], description: str) -> SubagentPause | None:
        """Return the pause of a call, with the state stored by an earlier run of it.

        None for a run without a saver, which can't be interrupted.
        """
        saver, info = find_saver(runtime.config), runtime.execution_info
        if saver is None or info is None or not info.thread_id:
            return None
        pause = cls(saver, info.thread_id, info.checkpoint_ns, description)
        await pause._load()
        return pause

    async def store(self) -> None:
        """Copy the state to the thread's saver."""
        found = [one async for one in self.saver.alist(self._config(""))]
        for one in reversed(found):
            checkpoint = one.checkpoint["id"]
            if checkpoint >= self._latest:
                await _copy_checkpoint(one, self._stored, self._config(self._namespace))
                self._latest = checkpoint
        config = self._config(self._namespace, self._latest)
        for position, identity in enumerate(self._asked):
            await self._stored.aput_writes(config, [(ASKED, identity)], f"{ASKED}:{position}")

    async def ask(self, questions: Sequence[Interrupt]) -> Mapping[str, Any]:
        """Ask the first question in the lead agent's run and return its answer by id.

        Raises GraphInterrupt while there is no answer.
        """
        first = min(questions, key=lambda one: one.id)
        identity, value = identify_question(first), self._describe(first.value)
        while self._answered < len(self._asked):
            known = self._asked[self._answered]
            answer = interrupt(value)
            self._answered += 1
            if known == identity:
                return {first.id: answer}
        self._asked.append(identity)
        await self.store()
        answer = interrupt(value)
        self._answered += 1
        return {first.id: answer}

    async def _load(self) -> None:
        found = [one async for one in self._stored.alist(self._config(self._namespace))]
        for one in reversed(found):
            await _copy_checkpoint(one, self.saver, self._config(""))
            self._latest = one.checkpoint["id"]
        records = found[0].pending_writes or [] if found else []
        asked = {task: str(value) for task, channel, value in records if channel == ASKED}
        self._asked = [asked[f"{ASKED}:{position}"] for position in range(len(asked))]

    def _describe(self, value: Any) -> Any:
        return {**value, "subagent": self._description} if isinstance(value, Mapping) else value

    def _config(self, namespace: str, checkpoint_id: str = "") -> RunnableConfig:
        place = {"thread_id": self._thread_id, "checkpoint_ns": namespace}
        return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}


def identify_question(question: Interrupt) -> str:
    """Return the identity of a question, since several questions of a step have the same id."""
    said = json.dumps([question.id, question.value], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()


async def _copy_checkpoint(
    one: CheckpointTuple, target: BaseCheckpointSaver[Any], config: RunnableConfig
) -> None:
    """Copy a checkpoint with its pending writes to the thread and namespace of `config`."""
    place = config["configurable"]
    parent = one.parent_config["configurable"]["checkpoint_id"] if one.parent_config else None
    under: RunnableConfig = {"configurable": {**place, "checkpoint_id": parent} if parent else place}
    versions = one.checkpoint["channel_versions"]
    await target.aput(under, one.checkpoint, one.metadata, versions)
    here: RunnableConfig = {"configurable": {**place, "checkpoint_id": one.checkpoint["id"]}}
    results: defaultdict[str, list[tuple[str, Any]]] = defaultdict(list)
    for task, channel, value in one.pending_writes or ():
        if channel in WRITES_IDX_MAP:
            # Stored alone, these replace an earlier one: a task may ask again.
            await target.aput_writes(here, [(channel, value)], task)
        elif channel != ASKED:
            results[task].append((channel, value))
    for task, writes in results.items():
        await target.aput_writes(here, writes, task)
