"""What can be switched, and where: one table, whose names the tests look up in the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.reference.markdown import code, page, table

INTRO = """
Where a cell is empty, it can't be switched there. Keys are described under [Configuration](configuration.md).

- **config.yaml**: for everybody; taken over while the service runs.
- **account**: the key at an entry of `channels`.
- **chat**: the command; for one conversation, from its next turn on.
- **a run**: the key in a run's `configurable`, or in an assistant's. The embedded client takes the same
  names: `client.chat("…", is_plan_mode=True)`. A value that does not fit counts as absent.
- **code**: a field of `RuntimeFeatures`, for [the agent in your own program](../howto/embed-the-agent.md):
  `True`, `False`, or an instance of a middleware with arguments of its own. Where `features` are given, they
  stand for *everything* in this column; a field that is not named has the default of the class, in brackets.
"""
AFTER = """
## Notes

- A chat's choice comes first, then the account's, then that of the agent of one's own, then `config.yaml`.
- What the model lacks (thinking, effort, tools) is left out, or refused where `allow_degradation` is false.
- A model without tools (`supports_tools: false`) gets no middleware that brings some: no plan, no questions
  back.
- Without a sandbox the agent has no tools for files and commands; what people send is announced all the
  same.
- Subagents are there where they would have tools to work with, or where a run asks for them.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A feature or limit: names as they stand in the code, empty where it has no switch of that kind."""

    what: str
    default: str
    config: Sequence[str] = ()
    account: str = ""
    chat: str = ""
    run: Sequence[str] = ()
    feature: str = ""
    note: str = ""


ROWS: Sequence[Row] = (
    Row(
        "Model",
        "the first",
        ("models",),
        "model",
        "/model",
        ("model_name",),
        note="without `models`: by the [environment](models.md)",
    ),
    Row(
        "Agent of one's own",
        "none",
        account="agent",
        chat="/agent",
        run=("agent_name",),
        note="its files: `agents/<name>/` below the home",
    ),
    Row("Assistant (graph)", "`lead_agent`", ("runtime.assistant_id",), "assistant_id"),
    Row(
        "Plan mode (todos)",
        "off",
        chat="/plan",
        run=("is_plan_mode",),
        note="`create_agent_graph(plan_mode=True)`",
    ),
    Row(
        "Messages that join the work",
        "off",
        account="busy",
        chat="/busy",
        run=("steerable",),
        feature="steering",
        note="[`steer`](../howto/handle-messages-during-a-run.md); not in the embedded client",
    ),
    Row(
        "Thinking",
        "off",
        ("models[].supports_thinking", "models[].when_thinking_enabled"),
        run=("thinking_enabled",),
        note="the keys say whether it can and how; they don't switch it on",
    ),
    Row(
        "Reasoning effort",
        "the model's own",
        ("models[].supports_reasoning_effort",),
        run=("reasoning_effort",),
        note="the key says whether it can; a fixed one is a further key of the model",
    ),
    Row("Vision", "as the model", ("models[].supports_vision",), feature="vision"),
    Row("Tools", "none", ("tools", "tool_groups"), note="an agent of one's own takes groups of them"),
    Row("Summaries of long threads", "off", ("summarization.enabled",), feature="summarization"),
    Row("Title", "on", ("title.enabled",), feature="auto_title", note="never with the bundled small model"),
    Row("Guardrail", "off", ("guardrails.enabled",), feature="guardrail"),
    Row(
        "Questions back (clarification)",
        "on",
        note="can't be switched off; a guardrail can deny `ask_clarification`",
    ),
    Row(
        "Loop detection",
        "on: warns at {warn}, stops at {stop} equal calls",
        feature="loop_detection",
        note="other numbers: an instance",
    ),
    Row(
        "Limits on calls of models and tools",
        "none",
        note="`extra_middleware=[ModelCallLimitMiddleware(…)]`, `ToolCallLimitMiddleware` (both LangChain's)",
    ),
    Row(
        "Model retries and fallbacks",
        "2 retries",
        ("model_calls.retries", "model_calls.fallback_models"),
    ),
    Row(
        "Tool retries",
        "none",
        note="`extra_middleware=[ToolRetryMiddleware(…)]` (LangChain's)",
    ),
    Row("Token usage", "on", note="always counted; `/usage` and `/status` show it"),
    Row(
        "Memory",
        "on",
        ("memory.enabled", "memory.injection_enabled"),
        feature="memory",
        note="never with the bundled small model; `/memory` shows and forgets",
    ),
    Row(
        "Subagents",
        "on",
        ("subagents.enabled", "subagents.max_concurrent"),
        run=("subagent_enabled",),
        feature="subagent",
        note="at most {subagents} at once",
    ),
    Row(
        "Deferred tools",
        "off",
        feature="deferred_tools",
        note="by itself from {deferred} tools on, if some are of MCP servers; other numbers: an instance",
    ),
    Row("Sandbox (files and commands)", "on", ("sandbox.enabled", "sandbox.use"), feature="sandbox"),
    Row(
        "Skills",
        "on",
        ("skills",),
        chat="/skill",
        note="each by `/skill`, the API, `extensions_config.json`; an agent of one's own has its list",
    ),
    Row(
        "MCP servers",
        "none",
        chat="/mcp",
        note="each by `/mcp`, the API or `extensions_config.json`",
    ),
    Row("Agents of other makers (ACP)", "none", ("acp_agents",), note="group `acp` of the tools"),
    Row("What a model lacks", "is left out", ("allow_degradation",)),
    Row(
        "State of threads",
        "SQLite",
        ("checkpointer.type",),
        note="in your own program: `AgentClient(checkpointer=…)`, else in memory",
    ),
    Row("Runs at once", "256", ("limits.max_runs",)),
    Row("Waiting messages, sizes", "20; 100,000 characters; 20 MB", ("limits",)),
)


def switches() -> str:
    """The page."""
    numbers = _numbers()
    header = ["feature or limit", "default", "config.yaml", "account", "chat", "a run", "code", "more"]
    return page("Switches", INTRO, table(header, [_cells(row, numbers) for row in ROWS]), AFTER)


def _cells(row: Row, numbers: Mapping[str, int]) -> list[str]:
    return [
        row.what,
        row.default.format(**numbers),
        _codes(row.config),
        _codes((row.account,)),
        _codes((row.chat,)),
        _codes(row.run),
        f"{code(row.feature)} ({_class_default(row.feature)})" if row.feature else "",
        row.note.format(**numbers),
    ]


def _codes(names: Sequence[str]) -> str:
    return ", ".join(code(name) for name in names if name)


def _class_default(feature: str) -> str:
    from agent.features import RuntimeFeatures

    return "on" if getattr(RuntimeFeatures(), feature) else "off"


def _numbers() -> Mapping[str, int]:
    from agent.middleware import deferred_tools, loop_detection, subagent_limit

    return {
        "warn": loop_detection.WARN_AT,
        "stop": loop_detection.STOP_AT,
        "subagents": subagent_limit.MOST,
        "deferred": deferred_tools.THRESHOLD + 1,
    }
