"""Feature switch reference. Tests look up every name of the table in the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.reference.markdown import code, page, table

INTRO = """
The table shows where each feature or limit can be switched; an empty cell means it can't be switched there.
Keys are described in [Configuration](configuration.md).

- **config.yaml**: for everyone; changes apply while the service runs.
- **account**: the key in an entry of `channels`.
- **chat**: the command; for one conversation, from its next answer on.
- **run**: the key in the `configurable` of a run or an assistant. The embedded client takes the same names:
  `client.chat("…", is_plan_mode=True)`. An invalid value is ignored.
- **code**: a field of `RuntimeFeatures`, to [embed the agent in a program](../howto/embed-the-agent.md):
  `True`, `False` or a middleware instance. If `features` is passed, it decides about *all* features in this
  column; an omitted field has the default of the class, shown in parentheses.
"""
AFTER = """
## Notes

- A choice in the chat takes precedence, then the account, the custom agent, and `config.yaml`.
- Features that the model does not support (thinking, effort, tools) are skipped, or rejected if
  `allow_degradation` is false.
- A model without tools (`supports_tools: false`) gets no middleware that adds tools: no plan, no clarifying
  questions.
- Without a sandbox the agent has no tools for files and commands; it is still told about uploaded files.
- Subagents are available if they would have tools to work with, or if a run requests them.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A feature or limit. Names are as in the code; an empty name means there is no such switch."""

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
        "the first model",
        ("models",),
        "model",
        "/model",
        ("model_name",),
        note="without `models`: by the [environment](models.md)",
    ),
    Row(
        "Custom agent",
        "none",
        account="agent",
        chat="/agent",
        run=("agent_name",),
        note="its files: `agents/<name>/` in the data directory",
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
        "Adding messages to current work",
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
        note="the keys say if and how the model can think; they do not turn it on",
    ),
    Row(
        "Reasoning effort",
        "the model's default",
        ("models[].supports_reasoning_effort",),
        run=("reasoning_effort",),
        note="the key says if the model supports it; set a fixed effort with another key of the model",
    ),
    Row("Vision", "as the model", ("models[].supports_vision",), feature="vision"),
    Row("Tools", "none", ("tools", "tool_groups"), note="a custom agent selects groups of tools"),
    Row("Summaries of long threads", "off", ("summarization.enabled",), feature="summarization"),
    Row("Title", "on", ("title.enabled",), feature="auto_title", note="not with the bundled model"),
    Row("Guardrail", "off", ("guardrails.enabled",), feature="guardrail"),
    Row(
        "Clarifying questions",
        "on",
        note="can't be switched off; a guardrail can deny `ask_clarification`",
    ),
    Row(
        "Loop detection",
        "on: warns at {warn}, stops at {stop} identical calls",
        feature="loop_detection",
        note="for other numbers, pass an instance",
    ),
    Row(
        "Limits for model and tool calls",
        "none",
        note="`extra_middleware=[ModelCallLimitMiddleware(…)]`, `ToolCallLimitMiddleware` (from LangChain)",
    ),
    Row(
        "Model retries and fallbacks",
        "2 retries",
        ("model_calls.retries", "model_calls.fallback_models"),
    ),
    Row(
        "Tool retries",
        "none",
        note="`extra_middleware=[ToolRetryMiddleware(…)]` (from LangChain)",
    ),
    Row("Token usage", "on", note="always counted; see `/usage` and `/status`"),
    Row(
        "Memory",
        "on",
        ("memory.enabled", "memory.injection_enabled"),
        feature="memory",
        note="not with the bundled model; `/memory` shows and deletes it",
    ),
    Row(
        "Subagents",
        "on",
        ("subagents.enabled", "subagents.max_concurrent"),
        run=("subagent_enabled",),
        feature="subagent",
        note="at most {subagents} at the same time",
    ),
    Row(
        "Deferred tools",
        "off",
        feature="deferred_tools",
        note="automatic from {deferred} tools if some are from MCP servers; otherwise pass an instance",
    ),
    Row("Sandbox (files and commands)", "on", ("sandbox.enabled", "sandbox.use"), feature="sandbox"),
    Row(
        "Skills",
        "on",
        ("skills",),
        chat="/skill",
        note="each with `/skill`, the API or `extensions_config.json`; a custom agent has its own list",
    ),
    Row(
        "MCP servers",
        "none",
        chat="/mcp",
        note="each with `/mcp`, the API or `extensions_config.json`",
    ),
    Row("External agents (ACP)", "none", ("acp_agents",), note="tool group `acp`"),
    Row("Unsupported model features", "skipped", ("allow_degradation",)),
    Row(
        "Thread state",
        "SQLite",
        ("checkpointer.type",),
        note="in your own program: `AgentClient(checkpointer=…)`, default in memory",
    ),
    Row("Concurrent runs", "256", ("limits.max_runs",)),
    Row("Waiting messages and sizes", "20; 100,000 characters; 20 MB", ("limits",)),
)


def render_feature_switches() -> str:
    """Return the page as Markdown."""
    numbers = _numbers()
    header = ["feature or limit", "default", "config.yaml", "account", "chat", "run", "code", "notes"]
    return page("Feature switches", INTRO, table(header, [_cells(row, numbers) for row in ROWS]), AFTER)


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
    from agent.config.harness import DEFERRED_TOOLS_THRESHOLD
    from agent.middleware import loop_detection, subagent_limit

    return {
        "warn": loop_detection.WARN_AT,
        "stop": loop_detection.STOP_AT,
        "subagents": subagent_limit.MOST,
        "deferred": DEFERRED_TOOLS_THRESHOLD + 1,
    }
