"""Run the agent in your own program, without a server.

    with AgentClient() as client:
        print(client.chat("Hello"))

The configuration file is looked up as usual. `config` takes precedence over it, and it over the defaults.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Checkpointer, Command

from agent.catalog.source import ModelSource
from agent.config.custom_agents import (
    AvailableOptions,
    CustomAgentBody,
    NewCustomAgentBody,
    change_custom_agent,
    create_custom_agent,
    delete_custom_agent,
    describe_custom_agent,
    describe_custom_agents,
)
from agent.config.extensions_file import ExtensionsSource
from agent.config.harness import MemoryConfig
from agent.core.background_loop import BackgroundLoop, PerLoop
from agent.core.client_events import MODES, StreamEvent, translate_stream
from agent.core.paths import home_from_environment
from agent.core.run_context import RunOptions
from agent.core.schemas import SuggestionList
from agent.core.telemetry import route_logs_to_stdlib
from agent.errors import Conflict
from agent.features import Middleware, RuntimeFeatures
from agent.harness.suggestions import SuggestionsBody, SuggestionService
from agent.lead import Additions, Graph, LeadAgent
from agent.management.check.report import offer_of, report
from agent.management.thread_files import ThreadFiles
from agent.mcp.management import McpManagement
from agent.memory.scopes import OWNER, parse_scope
from agent.memory.service import FactBody, MemoryService, NewFactBody
from agent.shared.run_identity import CHAT_FACTS
from agent.skills.client_calls import SkillCalls
from agent.skills.library import SkillLibrary, SkillManagement

_OPTIONS = (
    "model_name",
    "thinking_enabled",
    "reasoning_effort",
    "is_plan_mode",
    "subagent_enabled",
    "agent_name",
)
_CONTEXT = (
    *("user_id", "roles", "account", "platform", "chat", "chat_kind", "turn_id", "locale"),
    CHAT_FACTS,
)
Json = dict[str, Any]


class AgentClient(SkillCalls):
    """Talks to the lead agent in this process and manages its skills, servers, files and memory.

    `home` defaults to `ROEBOT_HOME`, then `.roebot`. Without `read_file` neither `config.yaml` nor
    `extensions_config.json` is read, and skills and MCP servers are set for the lifetime of the client.
    `features` replace those of the configuration; `extra_middleware` is placed as `agent.features` describes.
    `checkpointer` stores threads; without one they last as long as the client. Blocking methods run on the
    client's background loop, so they work with and without a running loop; `achat` and `astream` run on the
    caller's loop. Use it as a context manager, or call `close`. Raises ConfigErrors for a `config` that is
    invalid by itself; the first method that needs the file raises problems of the combination.
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
        self._agents = PerLoop(self._make_agent)
        self._extensions = ExtensionsSource(
            Path(extensions_path) if extensions_path is not None else None,
            read_file=read_file,
            environ=environ,
        )
        self._skills = SkillManagement(self._source, self._extensions, SkillLibrary(self._home))
        self._mcp = McpManagement(self._extensions, lambda: self._agents.get().mcp_pool())
        self._files = ThreadFiles(self._home, self._source)
        self._memory = MemoryService(self._home, self._memory_settings)
        self._follow_ups = SuggestionService(self._source)
        self._loop = BackgroundLoop()

    def chat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """Return the answer to a message; see `achat`."""
        return self._loop.run(self.achat(message, thread_id, **switches))

    def stream(self, message: str, thread_id: str | None = None, **switches: Any) -> Iterator[StreamEvent]:
        """Yield the events of a turn as they arrive; see `astream`."""
        return self._loop.iterate(self._stream_events(message, thread_id, switches))

    async def achat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """Return the answer to a message, or the agent's question, which the next message answers.

        Without `thread_id` each message gets its own thread. `switches` are `model_name`, `thinking_enabled`,
        `reasoning_effort`, `is_plan_mode`, `subagent_enabled`, `agent_name`, and the fields of
        `agent.core.run_context.RunContext`. Raises TypeError for any other name, AgentError or ConfigErrors.
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
        """Yield the events of a turn (see `agent.core.client_events`). Raises as `achat` does.

        If several questions are open at once (tool approvals), `message` maps each interrupt id to its
        answer; Conflict if none is open.
        """
        return self._stream_events(message, thread_id, switches)

    def reset_agent(self) -> None:
        """Rebuild the agent at the next message, from the configuration at that time."""
        self._source.expire()
        self._extensions.expire()
        for _, agent in self._agents.items():
            agent.reset()

    def get_config_problems(self) -> Json:
        """List unusable parts of the configuration (`agent.core.schemas.ConfigReport`).

        Raises ConfigErrors.
        """
        self._source.expire()
        return self._loop.run(report(self._source, self._home, self._environ, self._extensions)).model_dump()

    def list_models(self) -> Json:
        """Return `{"models": [...], "default", "reason"}` (`agent.core.schemas.ModelList`)."""
        return self._loop.run(self._source.catalog()).describe_all().model_dump()

    def get_model(self, name: str) -> Json:
        """Return one model (`agent.shared.schemas.ModelInfo`). Raises ModelUnknown."""
        catalog = self._loop.run(self._source.catalog())
        return catalog.describe(catalog.pick(name)).model_dump()

    def list_agents(self) -> Json:
        """Return the custom agents as `{"agents": [...]}` (`agent.core.schemas.AgentList`)."""
        return describe_custom_agents(self._home, self._environ, self._available_parts()).model_dump()

    def get_agent(self, name: str) -> Json:
        """Return one custom agent (`agent.shared.schemas.AgentInfo`). Raises ProfileUnknown."""
        return describe_custom_agent(self._home, name, self._environ, self._available_parts()).model_dump()

    def create_agent(self, name: str, **parts: Any) -> Json:
        """Create a custom agent (`agent.shared.schemas.AgentInfo`).

        `parts` are `description`, `model`, `tool_groups`, `skills` and `personality`. Raises Invalid or
        Conflict.
        """
        body = NewCustomAgentBody.of({**parts, "name": name})
        return create_custom_agent(self._home, body, self._environ, self._available_parts()).model_dump()

    def update_agent(self, name: str, **parts: Any) -> Json:
        """Change parts of a custom agent; None restores the default (`agent.shared.schemas.AgentInfo`).

        Raises ProfileUnknown, Invalid or Conflict and changes nothing then.
        """
        body = CustomAgentBody.of(parts)
        return change_custom_agent(
            self._home, name, body, self._environ, self._available_parts()
        ).model_dump()

    def delete_agent(self, name: str) -> Json:
        """Delete a custom agent with its folder (`OperationResult`). Raises ProfileUnknown."""
        return delete_custom_agent(self._home, name).model_dump()

    def get_mcp_config(self) -> Json:
        """Return `{"mcp_servers": {...}}` with hidden secrets (`agent.core.schemas.McpConfig`)."""
        return self._loop.run(self._mcp.load_config()).model_dump()

    def update_mcp_config(self, servers: Mapping[str, Any]) -> Json:
        """Replace all MCP servers and rebuild the agent (`agent.core.schemas.McpConfig`).

        A hidden secret that is sent back unchanged is kept. Raises Invalid and changes nothing then.
        """
        return self._apply_change(self._loop.run(self._mcp.replace_servers(servers)))

    def list_mcp_servers(self) -> Json:
        """List the MCP servers with state and tools (`McpServerList`); starts enabled ones."""
        return self._loop.run(self._mcp.list_servers()).model_dump()

    def update_mcp_server(self, name: str, enabled: bool) -> Json:
        """Enable or disable an MCP server and rebuild the agent (`McpServerState`).

        Raises NotFound or Invalid.
        """
        return self._apply_change(self._loop.run(self._mcp.set_enabled(name, enabled=enabled)))

    def upload_files(self, thread_id: str, files: Iterable[Path | str]) -> Json:
        """Copy local files into the thread (`agent.core.schemas.UploadResult`). Raises FileError."""
        return self._loop.run(self._files.upload(thread_id, [Path(file) for file in files])).model_dump()

    def list_uploads(self, thread_id: str) -> Json:
        """List the thread's uploads (`agent.core.schemas.UploadList`). Raises BadIdentifier."""
        return self._loop.run(self._files.list_uploads(thread_id)).model_dump()

    def delete_upload(self, thread_id: str, filename: str) -> Json:
        """Delete an upload (`OperationResult`). Raises BadIdentifier or FileMissing."""
        return self._loop.run(self._files.delete(thread_id, filename)).model_dump()

    def transcribe_upload(self, thread_id: str, filename: str) -> Json:
        """Transcribe a recording (`RecordingTranscript`). Raises BadIdentifier or FileMissing."""
        return self._loop.run(self._files.transcribe(thread_id, filename)).model_dump()

    def get_artifact(self, thread_id: str, path: str) -> tuple[bytes, str]:
        """Return a thread file's content and MIME type. Raises BadIdentifier or FileMissing."""
        return self._loop.run(self._files.artifact(thread_id, path))

    def delete_thread_data(self, thread_id: str) -> Json:
        """Delete the thread's local files (`DeletionResult`). Raises BadIdentifier."""
        return self._loop.run(self._files.forget(thread_id)).model_dump()

    def get_suggestions(self, thread_id: str, **wanted: Any) -> Json:
        """Suggest follow-up messages: `{"suggestions": [...]}` (`SuggestionList`).

        `wanted` may hold `n`, `model_name` and `messages`, which replace the thread's messages. Raises
        Invalid, ModelUnknown, ModelCallFailed or ConfigErrors.
        """
        return self._loop.run(self._suggest(thread_id, SuggestionsBody.of(wanted))).model_dump()

    def get_memory(self, scope: str | None = None) -> Json:
        """Return all memory (`agent.core.memory_document.MemoryDocument`), which is also the export.

        `scope`, here and below, is `person:ACCOUNT:PERSON` or `group:ACCOUNT:CHAT`; None is the user of the
        client. Raises BadIdentifier.
        """
        return self._loop.run(self._memory.load_document(parse_scope(scope))).model_dump()

    def reload_memory(self, scope: str | None = None) -> Json:
        """Read the memory again from its file and return it. Raises BadIdentifier."""
        return self._loop.run(self._memory.reload_document(parse_scope(scope))).model_dump()

    def get_memory_config(self, scope: str | None = None) -> Json:
        """Return the memory settings (`agent.core.schemas.MemorySettings`). Raises BadIdentifier."""

        parse_scope(scope)
        return self._loop.run(self._memory.load_settings()).model_dump()

    def get_memory_status(self, scope: str | None = None) -> Json:
        """Return size and pending updates of the memory (`MemoryStatus`). Raises BadIdentifier."""
        return self._loop.run(self._memory.load_status(parse_scope(scope))).model_dump()

    def forget_memory(self, scope: str | None = None) -> Json:
        """Delete all memory (`OperationResult`). Raises BadIdentifier."""
        return self._loop.run(self._memory.erase(parse_scope(scope))).model_dump()

    def add_memory_fact(self, content: str, *, scope: str | None = None, **parts: Any) -> Json:
        """Add a fact (`MemoryChange`); `parts` are `category` and `confidence`.

        Raises BadIdentifier, Invalid or Conflict.
        """
        given = NewFactBody.of({"content": content, **parts})
        return self._loop.run(self._memory.add_fact(parse_scope(scope), **given.model_dump())).model_dump()

    def update_memory_fact(self, fact_id: str, *, scope: str | None = None, **parts: Any) -> Json:
        """Change a fact's `content`, `category` or `confidence` (`MemoryChange`).

        Raises BadIdentifier, NotFound, Invalid or Conflict.
        """
        given = FactBody.of(parts)
        return self._loop.run(
            self._memory.change_fact(parse_scope(scope), fact_id, **given.model_dump())
        ).model_dump()

    def delete_memory_fact(self, fact_id: str, scope: str | None = None) -> Json:
        """Delete one fact (`OperationResult`). Raises BadIdentifier or NotFound."""
        return self._loop.run(self._memory.remove_fact(parse_scope(scope), fact_id)).model_dump()

    def close(self) -> None:
        """Stop the client's loop with its MCP sessions and sandboxes; running work is cancelled.

        Pending memory updates stay on disk. MCP sessions on a caller's loop end with that loop.
        """
        for loop, agent in self._agents.items():
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

    async def _stream_events(
        self, message: str | Mapping[str, str], thread_id: str | None, switches: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent, None]:
        config = _run_config(thread_id or str(uuid4()), switches)
        graph = await self._get_graph(config)
        before = await graph.aget_state(config)
        # A new run on a thread with an open question would discard the question.
        waits = any(task.interrupts for task in before.tasks)
        given: Any
        if waits:
            given = Command(resume=message)
        elif isinstance(message, str):
            given = {"messages": [HumanMessage(message)]}
        else:
            raise Conflict("No question is open in this conversation.")
        parts = graph.astream(given, config, stream_mode=list(MODES), durability="async")
        async with aclosing(translate_stream(parts, before.values)) as events:
            async for event in events:
                yield event

    async def _memory_settings(self) -> MemoryConfig:
        return (await self._source.config()).memory

    def _available_parts(self) -> AvailableOptions:
        return self._loop.run(offer_of(self._source))

    async def _get_graph(self, config: RunnableConfig) -> Graph:
        return await self._agents.get().get_graph(RunOptions.of(config["configurable"]))

    def _make_agent(self) -> LeadAgent:
        return LeadAgent(self._source, self._home, additions=self._additions, extensions=self._extensions)


def _run_config(thread_id: str, switches: Mapping[str, Any]) -> RunnableConfig:
    known = (*_OPTIONS, *_CONTEXT)
    if unknown := sorted(set(switches) - set(known)):
        raise TypeError(f"Unknown option {unknown[0]!r}; known: {', '.join(known)}.")
    given = {name: value for name, value in switches.items() if value is not None}
    return {"configurable": {"user_id": OWNER.key, **given, "thread_id": thread_id}}


def _last_answer(messages: Sequence[Json]) -> str:
    """Return the text of the last answer after the latest human message."""
    for message in reversed(messages):
        if message["type"] == "human":
            return ""
        if message["type"] == "ai" and (text := AIMessage(message["content"]).text):
            return text
    return ""


def render_question(value: Any) -> str:
    """Render a question of the agent as text with its options."""
    if not isinstance(value, Mapping):
        return str(value)
    options = [f"- {option}" for option in value.get("options") or ()]
    context = value.get("context")
    return "\n".join([*([str(context)] if context else []), str(value.get("question", "")), *options])
