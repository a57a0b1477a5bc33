"""The embedded client: the agent in one's own program, without a server.

    with AgentClient() as client:
        print(client.chat("Hello"))

Configuration is found as always; `config` is laid over the file (code before file before default).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Checkpointer, Command

from agent.blocking import OwnLoop
from agent.check.report import offer_of
from agent.events import MODES, StreamEvent, events_of
from agent.features import Middleware, RuntimeFeatures
from agent.files import ThreadFiles
from agent.lead import Additions, Graph, LeadAgent, home_from_environment
from agent.models.source import ModelSource
from agent.profiles import Offer, describe_profile, describe_profiles
from agent.switches import Switches

_SWITCHES = (
    "model_name",
    "thinking_enabled",
    "reasoning_effort",
    "is_plan_mode",
    "subagent_enabled",
    "agent_name",
)
_CONTEXT = ("user_id", "roles", "account", "platform", "chat", "chat_kind", "turn_id", "locale")
Json = dict[str, Any]


class AgentClient:
    """Talks to the lead agent in this process, and manages what belongs to it.

    `home` is `ROEBOT_HOME` or `.roebot`. Without `read_file` no configuration file is read. `features` stand
    for those of the configuration; `extra_middleware` finds its places by `agent.features`. `checkpointer`
    keeps threads; without one they last as long as the client. Blocking methods run on a loop of the
    client's own, so they work with and without a running loop; `achat` and `astream` run on the caller's.
    Use as a context manager, or call `close`. Raises ConfigErrors for a `config` that is wrong in itself;
    what only shows together with the file is raised by the first method that needs it.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        config_path: Path | str | None = None,
        read_file: bool = True,
        home: Path | str | None = None,
        features: RuntimeFeatures | None = None,
        extra_middleware: Sequence[Middleware] = (),
        checkpointer: Checkpointer = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._home = Path(home) if home is not None else home_from_environment()
        self._environ = environ
        path = Path(config_path) if config_path is not None else None
        self._source = ModelSource(path, overrides=config, read_file=read_file, environ=environ)
        self._source.check()
        self._additions = Additions(features, tuple(extra_middleware), checkpointer or InMemorySaver())
        self._agents: WeakKeyDictionary[asyncio.AbstractEventLoop, LeadAgent] = WeakKeyDictionary()
        self._files = ThreadFiles(self._home, self._source)
        self._own = OwnLoop()

    def chat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """The answer to a message; see `achat`."""
        return self._own.run(self.achat(message, thread_id, **switches))

    def stream(self, message: str, thread_id: str | None = None, **switches: Any) -> Iterator[StreamEvent]:
        """The events of a turn as they come; see `astream`."""
        return self._own.iterate(self._events(message, thread_id, switches))

    async def achat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """The answer to a message, or the question that the agent asks: the next message answers it.

        Without `thread_id` each message has a thread of its own. `switches`: `model_name`,
        `thinking_enabled`, `reasoning_effort`, `is_plan_mode`, `subagent_enabled`, `agent_name`, and what
        `agent.context.RunContext` knows. Raises TypeError for others, AgentError or ConfigErrors.
        """
        answer, asked = "", []
        async with aclosing(self._events(message, thread_id, switches)) as events:
            async for event in events:
                if event.type == "values":
                    answer = _answer_in(event.data["messages"])
                elif event.type == "end":
                    asked = event.data["interrupts"]
        return "\n\n".join(_question(one["value"]) for one in asked) or answer

    def astream(
        self, message: str, thread_id: str | None = None, **switches: Any
    ) -> AsyncIterator[StreamEvent]:
        """The events of a turn as they come (see `agent.events`). Raises as `achat` does."""
        return self._events(message, thread_id, switches)

    def reset_agent(self) -> None:
        """Make the agent anew for the next message, from what the configuration says then."""
        self._source.expire()
        for agent in list(self._agents.values()):
            agent.reset()

    def list_models(self) -> Json:
        """`{"models": [...], "default", "reason"}`, as `agent.results.ModelList`."""
        return self._own.run(self._source.catalog()).listing().model_dump()

    def get_model(self, name: str) -> Json:
        """One of them, as `agent.results.ModelInfo`. Raises ModelUnknown."""
        catalog = self._own.run(self._source.catalog())
        return catalog.info(catalog.pick(name)).model_dump()

    def list_agents(self) -> Json:
        """The agents of one's own: `{"agents": [...]}`, as `agent.results.AgentList`."""
        return describe_profiles(self._home, self._environ, self._offer()).model_dump()

    def get_agent(self, name: str) -> Json:
        """One of them, as `agent.results.AgentInfo`. Raises ProfileUnknown."""
        return describe_profile(self._home, name, self._environ, self._offer()).model_dump()

    def upload_files(self, thread_id: str, files: Iterable[Path | str]) -> Json:
        """Copy local files into the thread, all or none (`agent.results.UploadResult`). Raises FileError."""
        return self._own.run(self._files.upload(thread_id, [Path(file) for file in files])).model_dump()

    def list_uploads(self, thread_id: str) -> Json:
        """The thread's uploads, as `agent.results.UploadList`. Raises BadIdentifier."""
        return self._own.run(self._files.listed(thread_id)).model_dump()

    def delete_upload(self, thread_id: str, filename: str) -> Json:
        """Delete one of them, as `agent.results.Outcome`. Raises BadIdentifier or FileMissing."""
        return self._own.run(self._files.delete(thread_id, filename)).model_dump()

    def get_artifact(self, thread_id: str, path: str) -> tuple[bytes, str]:
        """The content of a file of the thread and its type. Raises BadIdentifier or FileMissing."""
        return self._own.run(self._files.artifact(thread_id, path))

    def delete_thread_data(self, thread_id: str) -> Json:
        """Delete the thread's local files, as `agent.results.Deleted`. Raises BadIdentifier."""
        return self._own.run(self._files.forget(thread_id)).model_dump()

    def close(self) -> None:
        """End the client's loop; what still runs on it is cancelled."""
        self._own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _events(
        self, message: str, thread_id: str | None, switches: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent, None]:
        config = _config(thread_id or str(uuid4()), switches)
        graph = await self._graph(config)
        before = await graph.aget_state(config)
        # A plain run on a thread with an open question would drop the question.
        waits = any(task.interrupts for task in before.tasks)
        given: Any = Command(resume=message) if waits else {"messages": [HumanMessage(message)]}
        parts = graph.astream(given, config, stream_mode=list(MODES), durability="async")
        async with aclosing(events_of(parts, before.values)) as events:
            async for event in events:
                yield event

    def _offer(self) -> Offer:
        return self._own.run(offer_of(self._source))

    async def _graph(self, config: RunnableConfig) -> Graph:
        loop = asyncio.get_running_loop()
        agent = self._agents.get(loop)
        if agent is None:
            agent = self._agents[loop] = LeadAgent(self._source, self._home, additions=self._additions)
        return await agent.graph(Switches.of(config["configurable"]))


def _config(thread_id: str, switches: Mapping[str, Any]) -> RunnableConfig:
    known = (*_SWITCHES, *_CONTEXT)
    if unknown := sorted(set(switches) - set(known)):
        raise TypeError(f"There is no switch {unknown[0]!r}; known: {', '.join(known)}.")
    given = {name: value for name, value in switches.items() if value is not None}
    return {"configurable": {**given, "thread_id": thread_id}}


def _answer_in(messages: Sequence[Json]) -> str:
    """The text of the last answer since a person wrote."""
    for message in reversed(messages):
        if message["type"] == "human":
            return ""
        if message["type"] == "ai" and (text := AIMessage(message["content"]).text):
            return text
    return ""


def _question(value: Any) -> str:
    """A question of the agent as text, with its options."""
    if not isinstance(value, Mapping):
        return str(value)
    options = [f"- {option}" for option in value.get("options") or ()]
    context = value.get("context")
    return "\n".join([*([str(context)] if context else []), str(value.get("question", "")), *options])
