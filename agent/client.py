"""In-process agent client, which needs no server.

    with AgentClient() as client:
        print(client.chat("Hello"))

The configuration file is looked up as usual. `config` takes precedence over it, and it over the defaults.
"""

from __future__ import annotations

import os
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Checkpointer, Command
from pydantic import BaseModel

from agent.catalog.source import ModelSource
from agent.config.custom_agents import CustomAgentBody, NewCustomAgentBody
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
from agent.management.agents import AgentManagement
from agent.management.models import ModelManagement
from agent.management.thread_files import ThreadFiles
from agent.mcp.management import McpManagement
from agent.memory.scopes import OWNER
from agent.memory.service import MemoryManagement
from agent.shared.run_identity import CHAT_FACTS
from agent.skills.git_source import GitSource
from agent.skills.install import source_of
from agent.skills.library import SkillLibrary, SkillManagement
from agent.skills.sources import SkillSource

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
P = ParamSpec("P")
T = TypeVar("T")


def _run_in_loop(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, BaseModel]], *, rebuilds: bool = False
) -> Callable[Concatenate[AgentClient, P], Json]:
    """Create a blocking client method from an operation; its result is plain data.

    With `rebuilds`, the next message is answered by a new agent.
    """
    kind = vars(sys.modules[method.__module__])[method.__qualname__.partition(".")[0]]

    def call(client: AgentClient, /, *arguments: P.args, **options: P.kwargs) -> Json:
        result: BaseModel = client._loop.run(method(client._service(kind), *arguments, **options))
        if rebuilds:
            client.reset_agent()
        return result.model_dump()

    return update_wrapper(call, method)


_create_agent = _run_in_loop(AgentManagement.create_agent)
_update_agent = _run_in_loop(AgentManagement.update_agent)
_check_skill = _run_in_loop(SkillManagement.check_skill)
_install_skill = _run_in_loop(SkillManagement.install_skill, rebuilds=True)
_upload = _run_in_loop(ThreadFiles.upload)


class AgentClient:
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
        self._memory = MemoryManagement(self._home, self._memory_settings)
        services = (
            ModelManagement(self._home, self._source, self._extensions, environ),
            AgentManagement(self._home, self._source, environ),
            McpManagement(self._extensions, lambda: self._agents.get().mcp_pool()),
            SkillManagement(self._source, self._extensions, SkillLibrary(self._home)),
            self._memory,
            ThreadFiles(self._home, self._source),
        )
        self._services: Mapping[type, Any] = {type(service): service for service in services}
        self._follow_ups = SuggestionService(self._source)
        self._loop = BackgroundLoop()

    def chat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """Return the answer to a message; see `achat`."""
        return self._loop.run(self.achat(message, thread_id, **switches))

    def stream(self, message: str, thread_id: str | None = None, **switches: Any) -> Iterator[StreamEvent]:
        """Yield the events of a turn as they arrive; see `astream`."""
        return self._loop.iterate(self._stream_events(message, thread_id, switches))

    async def achat(self, message: str, thread_id: str | None = None, **switches: Any) -> str:
        """Return the answer to a message, or a question by the agent, which the next message answers.

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
        """Yield the events of a turn (see `agent.core.client_events`). Raises the same exceptions as `achat`.

        If several questions are open at once (tool approvals), `message` maps each interrupt id to its
        answer; Conflict if none is open.
        """
        return self._stream_events(message, thread_id, switches)

    def reset_agent(self) -> None:
        """Rebuild the agent for the next message, using the configuration at that time."""
        self._source.expire()
        self._extensions.expire()
        for _, agent in self._agents.items():
            agent.reset()

    get_config_problems = _run_in_loop(ModelManagement.list_config_problems)
    list_models = _run_in_loop(ModelManagement.list_models)
    get_model = _run_in_loop(ModelManagement.get_model)

    list_agents = _run_in_loop(AgentManagement.list_agents)
    get_agent = _run_in_loop(AgentManagement.get_agent)
    delete_agent = _run_in_loop(AgentManagement.delete_agent)

    def create_agent(self, name: str, **parts: Any) -> Json:
        """Create a custom agent (`agent.shared.schemas.AgentInfo`).

        `parts` are `description`, `model`, `tool_groups`, `skills` and `personality`. Raises Invalid or
        Conflict.
        """
        return _create_agent(self, NewCustomAgentBody.of({**parts, "name": name}))

    def update_agent(self, name: str, **parts: Any) -> Json:
        """Change parts of a custom agent; None restores the default (`agent.shared.schemas.AgentInfo`).

        Raises ProfileUnknown, Invalid or Conflict and changes nothing then.
        """
        return _update_agent(self, name, CustomAgentBody.of(parts))

    get_mcp_config = _run_in_loop(McpManagement.get_mcp_config)
    update_mcp_config = _run_in_loop(McpManagement.replace_mcp_config, rebuilds=True)
    list_mcp_servers = _run_in_loop(McpManagement.list_mcp_servers)
    add_mcp_server = _run_in_loop(McpManagement.add_mcp_server, rebuilds=True)
    check_mcp_server = _run_in_loop(McpManagement.check_mcp_server)
    update_mcp_server = _run_in_loop(McpManagement.switch_mcp_server, rebuilds=True)
    change_mcp_server = _run_in_loop(McpManagement.change_mcp_server, rebuilds=True)
    remove_mcp_server = _run_in_loop(McpManagement.remove_mcp_server, rebuilds=True)

    list_skills = _run_in_loop(SkillManagement.list_skills)
    get_skill = _run_in_loop(SkillManagement.get_skill)
    update_skill = _run_in_loop(SkillManagement.switch_skill, rebuilds=True)
    upgrade_skill = _run_in_loop(SkillManagement.upgrade_skill, rebuilds=True)
    remove_skill = _run_in_loop(SkillManagement.remove_skill, rebuilds=True)
    list_skill_versions = _run_in_loop(SkillManagement.list_versions)
    restore_skill = _run_in_loop(SkillManagement.restore_skill, rebuilds=True)

    def check_skill(self, source: Path | str, **options: str) -> Json:
        """Check a skill without installing it (`SkillCheck`). Raises SkillRefused.

        `source` and `options` are those of `install_skill`.
        """
        return _check_skill(self, _find_source(source, options))

    def install_skill(self, source: Path | str, *, replace: bool = False, **options: str) -> Json:
        """Install a skill, with `replace` also over an installed one (`SkillInstalled`). Raises SkillRefused.

        `source` is an archive, a folder, or the https address of a git repository with the `options`
        `reference` and `commit`. The option `path` is the skill's folder in it.
        """
        return _install_skill(self, _find_source(source, options), replace=replace)

    def upload_files(self, thread_id: str, files: Iterable[Path | str]) -> Json:
        """Copy local files into the thread (`agent.core.schemas.UploadResult`). Raises FileError."""
        return _upload(self, thread_id, [Path(file) for file in files])

    list_uploads = _run_in_loop(ThreadFiles.list_uploads)
    delete_upload = _run_in_loop(ThreadFiles.delete_upload)
    transcribe_upload = _run_in_loop(ThreadFiles.transcribe_upload)
    delete_thread_data = _run_in_loop(ThreadFiles.delete_thread_data)

    def get_artifact(self, thread_id: str, path: str) -> tuple[bytes, str]:
        """Return a thread file's content and MIME type. Raises BadIdentifier or FileMissing."""
        return self._loop.run(self._service(ThreadFiles).artifact(thread_id, path))

    def get_suggestions(self, thread_id: str, **wanted: Any) -> Json:
        """Suggest follow-up messages: `{"suggestions": [...]}` (`SuggestionList`).

        `wanted` may hold `n`, `model_name` and `messages`, which replace the thread's messages. Raises
        Invalid, ModelUnknown, ModelCallFailed or ConfigErrors.
        """
        return self._loop.run(self._suggest(thread_id, SuggestionsBody.of(wanted))).model_dump()

    get_memory = _run_in_loop(MemoryManagement.get_memory)
    reload_memory = _run_in_loop(MemoryManagement.reload_memory)
    get_memory_config = _run_in_loop(MemoryManagement.get_memory_config)
    get_memory_status = _run_in_loop(MemoryManagement.get_memory_status)
    forget_memory = _run_in_loop(MemoryManagement.delete_memory)
    add_memory_fact = _run_in_loop(MemoryManagement.add_fact)
    update_memory_fact = _run_in_loop(MemoryManagement.update_fact)
    delete_memory_fact = _run_in_loop(MemoryManagement.delete_fact)

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

    def _service(self, kind: type[T]) -> T:
        found: T = self._services[kind]
        return found

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


def _find_source(source: Path | str, options: dict[str, str]) -> SkillSource:
    if isinstance(source, str) and "://" in source:
        return GitSource.parse(source, **options)
    return source_of(Path(source), **{"within": options.pop("path", ""), **options})
