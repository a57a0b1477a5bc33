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
from pydantic import BaseModel

from agent.config.custom_agent_changes import (
    NewProfileBody,
    ProfileBody,
    change_profile,
    make_profile,
    remove_profile,
)
from agent.config.custom_agents import Offer, describe_profile, describe_profiles
from agent.config.extensions_source import ExtensionsSource
from agent.config.memory import MemoryConfig
from agent.core.background_loop import BackgroundLoop
from agent.core.client_events import MODES, StreamEvent, translate_stream
from agent.core.home import home_from_environment
from agent.core.logging_defaults import route_logs_to_stdlib
from agent.core.run_options import RunOptions
from agent.core.schemas import SuggestionList
from agent.errors import Conflict
from agent.features import Middleware, RuntimeFeatures
from agent.harness.suggestions import SuggestionsBody, SuggestionService
from agent.lead import Additions, Graph, LeadAgent
from agent.management.check.report import offer_of, report
from agent.management.thread_files import ThreadFiles
from agent.mcp.management import McpManagement
from agent.memory.bodies import FactBody, NewFactBody
from agent.memory.scopes import OWNER, parse_scope
from agent.memory.service import ManagedMemory
from agent.models.source import ModelSource
from agent.skills.library import SkillLibrary
from agent.skills.management import SkillManagement

_OPTIONS = (
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

    `home` is `ROEBOT_HOME` or `.roebot`. Without `read_file` neither `config.yaml` nor
    `extensions_config.json` is read: skills and MCP servers are then set for the life of the client.
    `features` stand for those of the configuration; `extra_middleware` finds its places by `agent.features`.
    `checkpointer` keeps threads; without one they last as long as the client. Blocking methods run on a loop
    of the client's own, so they work with and without a running loop; `achat` and `astream` run on the
    caller's. Use as a context manager, or call `close`. Raises ConfigErrors for a `config` that is wrong in
    itself; what only shows together with the file is raised by the first method that needs it.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        config_path: Path | str | None = None,
        extensions_path: Path | str | None = None,
        read_file: bool = True,
        home: Path | str | None = None,
        features: RuntimeFeatures | None = None,
        extra_middleware: Sequence[Middleware] = (),
        checkpointer: Checkpointer = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        route_logs_to_stdlib()
        self._home = Path(home) if home is not None else home_from_environment()
        self._environ = environ
        path = Path(config_path) if config_path is not None else None
        self._source = ModelSource(path, overrides=config, read_file=read_file, environ=environ)
        self._source.check()
        self._additions = Additions(features, tuple(extra_middleware), checkpointer or InMemorySaver())
        self._agents: WeakKeyDictionary[asyncio.AbstractEventLoop, LeadAgent] = WeakKeyDictionary()
        self._extensions = ExtensionsSource(
            Path(extensions_path) if extensions_path is not None else None,
            read_file=read_file,
            environ=environ,
        )
        self._skills = SkillManagement(self._source, self._extensions, SkillLibrary(self._home))
        self._mcp = McpManagement(self._extensions, lambda: self._lead_agent().mcp_pool())
        self._files = ThreadFiles(self._home, self._source)
        self._memory = ManagedMemory(self._home, self._memory_settings)
        self._follow_ups = SuggestionService(self._source)
        self._loop = BackgroundLoop()

    def chat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """The answer to a message; see `achat`."""
        return self._loop.run(self.achat(message, thread_id, **switches))

    def stream(self, message: str, thread_id: str | None = None, **switches: Any) -> Iterator[StreamEvent]:
        """The events of a turn as they come; see `astream`."""
        return self._loop.iterate(self._stream_events(message, thread_id, switches))

    async def achat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """The answer to a message, or the question that the agent asks: the next message answers it.

        Without `thread_id` each message has a thread of its own. `switches`: `model_name`,
        `thinking_enabled`, `reasoning_effort`, `is_plan_mode`, `subagent_enabled`, `agent_name`, and what
        `agent.core.run_context.RunContext` knows. Raises TypeError for others, AgentError or ConfigErrors.
        """
        answer, asked = "", []
        async with aclosing(self._stream_events(message, thread_id, switches)) as events:
            async for event in events:
                if event.type == "values":
                    answer = _last_answer(event.data["messages"])
                elif event.type == "end":
                    asked = event.data["interrupts"]
        return "\n\n".join(render_question(one["value"]) for one in asked) or answer

    def astream(
        self, message: str | Mapping[str, str], thread_id: str | None = None, **switches: Any
    ) -> AsyncIterator[StreamEvent]:
        """The events of a turn as they come (see `agent.core.client_events`). Raises as `achat` does.

        Where several things are asked at once (approvals of tools), `message` has the answer of each by the
        id of its interrupt; Conflict where nothing is asked.
        """
        return self._stream_events(message, thread_id, switches)

    def reset_agent(self) -> None:
        """Make the agent anew for the next message, from what the configuration says then."""
        self._source.expire()
        self._extensions.expire()
        for agent in list(self._agents.values()):
            agent.reset()

    def get_config_problems(self) -> Json:
        """What of the configuration can't be used, as `agent.core.schemas.ConfigReport`. Raises
        ConfigErrors.
        """
        self._source.expire()
        return self._loop.run(report(self._source, self._home, self._environ, self._extensions)).model_dump()

    def list_models(self) -> Json:
        """`{"models": [...], "default", "reason"}`, as `agent.core.schemas.ModelList`."""
        return self._loop.run(self._source.catalog()).describe_all().model_dump()

    def get_model(self, name: str) -> Json:
        """One of them, as `agent.core.schemas.ModelInfo`. Raises ModelUnknown."""
        catalog = self._loop.run(self._source.catalog())
        return catalog.describe(catalog.pick(name)).model_dump()

    def list_agents(self) -> Json:
        """The agents of one's own: `{"agents": [...]}`, as `agent.core.schemas.AgentList`."""
        return describe_profiles(self._home, self._environ, self._offer()).model_dump()

    def get_agent(self, name: str) -> Json:
        """One of them, as `agent.core.schemas.AgentInfo`. Raises ProfileUnknown."""
        return describe_profile(self._home, name, self._environ, self._offer()).model_dump()

    def create_agent(self, name: str, **parts: Any) -> Json:
        """Make one (`agent.core.schemas.AgentInfo`).

        `parts`: `description`, `model`, `tool_groups`, `skills`, `personality`. Raises Invalid or Conflict.
        """
        body = NewProfileBody.of({**parts, "name": name})
        return make_profile(self._home, body, self._environ, self._offer()).model_dump()

    def update_agent(self, name: str, **parts: Any) -> Json:
        """Change some of its parts; None is the usual again (`agent.core.schemas.AgentInfo`).

        Raises ProfileUnknown, Invalid or Conflict, and nothing is changed then.
        """
        body = ProfileBody.of(parts)
        return change_profile(self._home, name, body, self._environ, self._offer()).model_dump()

    def delete_agent(self, name: str) -> Json:
        """Delete it with its folder, as `agent.core.schemas.Outcome`. Raises ProfileUnknown."""
        return remove_profile(self._home, name).model_dump()

    def get_mcp_config(self) -> Json:
        """`{"mcp_servers": {...}}`, secrets hidden, as `agent.core.schemas.McpConfig`."""
        return self._loop.run(self._mcp.config()).model_dump()

    def update_mcp_config(self, servers: Mapping[str, Any]) -> Json:
        """Put these in the place of all servers; the agent is made anew (`agent.core.schemas.McpConfig`).

        What is sent back as it was shown stays as it is. Raises Invalid, and nothing is changed then.
        """
        return self._apply_change(self._loop.run(self._mcp.update(servers)))

    def list_mcp_servers(self) -> Json:
        """How the servers do, and their tools (`agent.core.schemas.McpServerList`); starts enabled ones."""
        return self._loop.run(self._mcp.servers()).model_dump()

    def update_mcp_server(self, name: str, enabled: bool) -> Json:
        """Switch one on or off; the agent is made anew (`agent.core.schemas.McpServerState`).

        Raises NotFound or Invalid.
        """
        return self._apply_change(self._loop.run(self._mcp.switch(name, enabled=enabled)))

    def list_skills(self) -> Json:
        """`{"skills": [...], "problems": [...]}`, as `agent.core.schemas.SkillList`."""
        return self._loop.run(self._skills.listed()).model_dump()

    def get_skill(self, name: str) -> Json:
        """One of them, as `agent.core.schemas.SkillInfo`. Raises SkillUnknown."""
        return self._loop.run(self._skills.one(name)).model_dump()

    def update_skill(self, name: str, enabled: bool) -> Json:
        """Switch it on or off; the agent is made anew (`agent.core.schemas.SkillInfo`). Raises SkillError."""
        return self._apply_change(self._loop.run(self._skills.switch(name, enabled=enabled)))

    def install_skill(self, path: Path | str) -> Json:
        """Install it from a `.skill` archive (`agent.core.schemas.SkillInstalled`). Raises SkillRefused."""
        return self._apply_change(self._loop.run(self._skills.install(Path(path))))

    def upload_files(self, thread_id: str, files: Iterable[Path | str]) -> Json:
        """Copy local files into the thread (`agent.core.schemas.UploadResult`). Raises FileError."""
        return self._loop.run(self._files.upload(thread_id, [Path(file) for file in files])).model_dump()

    def list_uploads(self, thread_id: str) -> Json:
        """The thread's uploads, as `agent.core.schemas.UploadList`. Raises BadIdentifier."""
        return self._loop.run(self._files.listed(thread_id)).model_dump()

    def delete_upload(self, thread_id: str, filename: str) -> Json:
        """Delete one of them, as `agent.core.schemas.Outcome`. Raises BadIdentifier or FileMissing."""
        return self._loop.run(self._files.delete(thread_id, filename)).model_dump()

    def get_artifact(self, thread_id: str, path: str) -> tuple[bytes, str]:
        """The content of a file of the thread and its type. Raises BadIdentifier or FileMissing."""
        return self._loop.run(self._files.artifact(thread_id, path))

    def delete_thread_data(self, thread_id: str) -> Json:
        """Delete the thread's local files, as `agent.core.schemas.Deleted`. Raises BadIdentifier."""
        return self._loop.run(self._files.forget(thread_id)).model_dump()

    def get_suggestions(self, thread_id: str, **wanted: Any) -> Json:
        """What a person may want to say next: `{"suggestions": [...]}` (`agent.core.schemas.SuggestionList`).

        `wanted`: `n`, `model_name`, and `messages` in the place of what was said in the thread. Raises
        Invalid, ModelUnknown, ModelCallFailed or ConfigErrors.
        """
        return self._loop.run(self._suggest(thread_id, SuggestionsBody.of(wanted))).model_dump()

    def get_memory(self, scope: str | None = None) -> Json:
        """All that is remembered, as `agent.core.memory_document.MemoryDocument`; also what an export is.

        `scope`, here and below: `person:ACCOUNT:PERSON` or `group:ACCOUNT:CHAT`; None is who uses the client.
        Raises BadIdentifier.
        """
        return self._loop.run(self._memory.get(parse_scope(scope))).model_dump()

    def reload_memory(self, scope: str | None = None) -> Json:
        """The same, read anew from its file. Raises BadIdentifier."""
        return self._loop.run(self._memory.reload(parse_scope(scope))).model_dump()

    def get_memory_config(self, scope: str | None = None) -> Json:
        """How memory is configured (`agent.core.schemas.MemorySettings`). Raises BadIdentifier."""

        parse_scope(scope)
        return self._loop.run(self._memory.settings()).model_dump()

    def get_memory_status(self, scope: str | None = None) -> Json:
        """How much is remembered (`agent.core.schemas.MemoryStatus`). Raises BadIdentifier."""
        return self._loop.run(self._memory.status(parse_scope(scope))).model_dump()

    def forget_memory(self, scope: str | None = None) -> Json:
        """Erase it all (`agent.core.schemas.Outcome`). Raises BadIdentifier."""
        return self._loop.run(self._memory.forget(parse_scope(scope))).model_dump()

    def add_memory_fact(self, content: str, *, scope: str | None = None, **parts: Any) -> Json:
        """Add a fact; `parts` are `category` and `confidence` (`agent.core.schemas.MemoryChange`).

        Raises BadIdentifier, Invalid or Conflict.
        """
        given = NewFactBody.of({"content": content, **parts})
        return self._loop.run(self._memory.add(parse_scope(scope), **given.model_dump())).model_dump()

    def update_memory_fact(self, fact_id: str, *, scope: str | None = None, **parts: Any) -> Json:
        """Change a fact's `content`, `category` or `confidence` (`agent.core.schemas.MemoryChange`).

        Raises BadIdentifier, NotFound, Invalid or Conflict.
        """
        given = FactBody.of(parts)
        return self._loop.run(
            self._memory.change(parse_scope(scope), fact_id, **given.model_dump())
        ).model_dump()

    def delete_memory_fact(self, fact_id: str, scope: str | None = None) -> Json:
        """Forget one fact (`agent.core.schemas.Outcome`). Raises BadIdentifier or NotFound."""
        return self._loop.run(self._memory.remove(parse_scope(scope), fact_id)).model_dump()

    def close(self) -> None:
        """End the client's loop with its MCP sessions and sandboxes; what still runs on it is cancelled.

        What waits to be remembered is kept. Sessions of a loop of the caller's end with that loop.
        """
        for loop, agent in list(self._agents.items()):
            if self._loop.owns(loop):
                self._loop.run(agent.aclose())
                self._loop.run(agent.close_sandboxes())
        self._loop.close()
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _suggest(self, thread_id: str, wanted: SuggestionsBody) -> SuggestionList:
        messages = wanted.conversation
        if messages is None:
            config = _run_config(thread_id, {})
            messages = (await (await self._get_graph(config)).aget_state(config)).values.get("messages", [])
        return await self._follow_ups.suggest(messages, wanted)

    def _apply_change(self, result: BaseModel) -> Json:
        self.reset_agent()
        return result.model_dump()

    async def _stream_events(
        self, message: str | Mapping[str, str], thread_id: str | None, switches: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent, None]:
        config = _run_config(thread_id or str(uuid4()), switches)
        graph = await self._get_graph(config)
        before = await graph.aget_state(config)
        # A plain run on a thread with an open question would drop the question.
        waits = any(task.interrupts for task in before.tasks)
        given: Any
        if waits:
            given = Command(resume=message)
        elif isinstance(message, str):
            given = {"messages": [HumanMessage(message)]}
        else:
            raise Conflict("Nothing is asked in this conversation.")
        parts = graph.astream(given, config, stream_mode=list(MODES), durability="async")
        async with aclosing(translate_stream(parts, before.values)) as events:
            async for event in events:
                yield event

    async def _memory_settings(self) -> MemoryConfig:
        return (await self._source.config()).memory

    def _offer(self) -> Offer:
        return self._loop.run(offer_of(self._source))

    async def _get_graph(self, config: RunnableConfig) -> Graph:
        return await self._lead_agent().get_graph(RunOptions.of(config["configurable"]))

    def _lead_agent(self) -> LeadAgent:
        """The agent of the running loop."""
        loop = asyncio.get_running_loop()
        agent = self._agents.get(loop)
        if agent is None:
            agent = self._agents[loop] = LeadAgent(
                self._source, self._home, additions=self._additions, extensions=self._extensions
            )
        return agent


def _run_config(thread_id: str, switches: Mapping[str, Any]) -> RunnableConfig:
    known = (*_OPTIONS, *_CONTEXT)
    if unknown := sorted(set(switches) - set(known)):
        raise TypeError(f"There is no switch {unknown[0]!r}; known: {', '.join(known)}.")
    given = {name: value for name, value in switches.items() if value is not None}
    return {"configurable": {"user_id": OWNER.key, **given, "thread_id": thread_id}}


def _last_answer(messages: Sequence[Json]) -> str:
    """The text of the last answer since a person wrote."""
    for message in reversed(messages):
        if message["type"] == "human":
            return ""
        if message["type"] == "ai" and (text := AIMessage(message["content"]).text):
            return text
    return ""


def render_question(value: Any) -> str:
    """A question of the agent as text, with its options."""
    if not isinstance(value, Mapping):
        return str(value)
    options = [f"- {option}" for option in value.get("options") or ()]
    context = value.get("context")
    return "\n".join([*([str(context)] if context else []), str(value.get("question", "")), *options])
