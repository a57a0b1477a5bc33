"""The origin of a run (person, roles, chat) and its options. Every field may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime

from agent.shared.compaction import COMPACTION
from agent.shared.run_identity import CHAT_FACTS

_OF_THE_RUN = frozenset({"thread_id", "run_id"})
"""Fields that the server sets in `configurable`; a client's context can't choose another thread."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """Origin of a run, read from its `configurable` or context; the bot sends all but the first two fields.

    `user_id` is `platform:id` of the person. `roles` are the current ones with those they include, highest
    first: owner, admin, member; empty for a person without access. For a turn of several people, `user_id` is
    the last author and `roles` are those that all of them have. `chat_kind` is private or group; `locale` is
    en or zh. `approved` lists tools that a person allowed without asking again, `denied_tools` those that
    the run can't use, with * for any text. `local_day` is the ISO date in the chat's time zone when the run
    was created.
    """

    thread_id: str | None = None
    run_id: str | None = None
    user_id: str | None = None
    roles: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    denied_tools: tuple[str, ...] = ()
    account: str | None = None
    platform: str | None = None
    chat: str | None = None
    chat_kind: str | None = None
    turn_id: str | None = None
    locale: str | None = None
    local_day: str | None = None

    def denies(self, tool: str) -> bool:
        """Return whether the run can't use a tool."""
        return any(fnmatchcase(tool, pattern) for pattern in self.denied_tools)

    @classmethod
    def of(cls, source: RunnableConfig | Runtime[Any] | None = None) -> RunContext:
        """Read it from a run's config, or from the runtime passed to hooks and tools.

        A runtime without a config, and no source at all, mean the current run; outside a run every field is
        missing.
        """
        config, context = _config_and_context(source)
        configurable = config.get("configurable") or {}
        known = {
            name: context[name] if name in context and name not in _OF_THE_RUN else configurable.get(name)
            for name in (*_NAMES, CHAT_FACTS)
        }
        if "run_id" not in configurable:
            known["run_id"] = config.get("run_id")
        if isinstance(facts := known.pop(CHAT_FACTS), Mapping):
            known["local_day"] = facts.get("today")
        if known["thread_id"] is None and isinstance(source, Runtime) and source.execution_info is not None:
            known["thread_id"] = source.execution_info.thread_id
        values = {name: _as_names(x) if name in _LISTS else _as_text(x) for name, x in known.items()}
        return cls(**values)  # type: ignore[arg-type]


_NAMES = tuple(field.name for field in fields(RunContext))
_LISTS = frozenset({"roles", "approved", "denied_tools"})


def read_run_setting(name: str, source: RunnableConfig | Runtime[Any] | None = None) -> Any:
    """Return a value from a run's context or `configurable`, or None if missing; `source` as in
    `RunContext.of`.
    """
    config, context = _config_and_context(source)
    return context.get(name, (config.get("configurable") or {}).get(name))


def _config_and_context(source: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if isinstance(source, Mapping):
        return source, {}
    context = getattr(source, "context", None)
    config = getattr(source, "config", None)
    return (
        config if isinstance(config, Mapping) else _current_config(),
        context if isinstance(context, Mapping) else {},
    )


def _current_config() -> Mapping[str, Any]:
    try:
        return get_config()
    except RuntimeError:
        return {}


def _as_text(value: Any) -> str | None:
    return str(value) if value is not None and str(value) else None


def _as_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()


MODEL_HEADER = "x-model"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Requested options; None and False mean the model's default (for subagents: the configured default).

    `in_chat` if the bot runs the agent for a turn, so that its schedules and commands exist. A skill may be
    used if each of `allowed_skills` contains a pattern that matches its name, with * for any text.
    """

    model_name: str | None = None
    thinking: bool = False
    effort: str | None = None
    plan_mode: bool = False
    subagents: bool | None = None
    agent_name: str | None = None
    steerable: bool = False
    in_chat: bool = False
    allowed_skills: tuple[tuple[str, ...], ...] = ()

    def allows_skill(self, name: str) -> bool:
        """Return whether the run may use a skill."""
        return all(any(fnmatchcase(name, one) for one in patterns) for patterns in self.allowed_skills)

    @classmethod
    def of(cls, configurable: Mapping[str, Any]) -> RunOptions:
        """Read `model_name` (or the header `X-Model`), `thinking_enabled`, `reasoning_effort`,
        `is_plan_mode`, `subagent_enabled`, `agent_name`, `steerable`, `turn_id` and `allowed_skills`.
        """
        skills = configurable.get("allowed_skills")
        return cls(
            model_name=_as_option(configurable.get("model_name"))
            or _as_option(configurable.get(MODEL_HEADER)),
            thinking=configurable.get("thinking_enabled") is True,
            effort=_as_option(configurable.get("reasoning_effort")),
            plan_mode=configurable.get("is_plan_mode") is True,
            subagents=_as_flag(configurable.get("subagent_enabled")),
            agent_name=_as_option(configurable.get("agent_name")),
            steerable=configurable.get("steerable") is True,
            in_chat=_as_option(configurable.get("turn_id")) is not None,
            allowed_skills=tuple(map(_as_names, skills if isinstance(skills, list | tuple) else ())),
        )


def _as_flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _as_option(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


@dataclass(frozen=True, slots=True)
class CompactionOrder:
    """A request to summarize a thread: its key, and the subject that the summary should preserve."""

    key: str
    focus: str = ""

    @classmethod
    def of(cls, configurable: Mapping[str, Any]) -> CompactionOrder:
        """Read `compaction`, a mapping with `key` and `focus`; without it every run is a new request."""
        given = configurable.get(COMPACTION)
        known = given if isinstance(given, Mapping) else {}
        key = _as_option(known.get("key")) or str(configurable.get("run_id") or "")
        return cls(key, _as_option(known.get("focus")) or "")
