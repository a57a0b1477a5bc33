"""Feature switch reference. Tests look up every name of the table in the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.reference.markdown import code, page, table

INTRO = """
This table shows where you can switch or set each feature or limit. An empty cell means that you can't do it
there. For descriptions of the keys, see [Configuration](configuration.md).

- **config.yaml**: a key that applies to everyone. Changes take effect while the service is running.
- **account**: a key in an entry of `channels`.
- **chat**: a command. It applies to one conversation, starting with the next answer.
- **run**: a key in the `configurable` of a run or an assistant. The embedded client accepts the same names
  as keyword arguments: `client.chat("…", is_plan_mode=True)`. Invalid values are ignored.
- **code**: a field of `RuntimeFeatures`, for [programs that embed the agent](../howto/embed-the-agent.md).
  Its value is `True`, `False` or a middleware instance. If you pass `features`, it controls *all* features
  in this column; a field that you omit has the class default, shown in parentheses.
"""
AFTER = """
## Notes

- A setting made in the chat takes precedence over the account, followed by the custom agent and then
  `config.yaml`.
- Features that the model does not support (thinking, effort, tools) are skipped, or rejected if
  `allow_degradation` is false.
- For a model that can't call tools (`supports_tools: false`), middleware that adds tools is left out, so
  there are no plans and no clarifying questions.
- Without a sandbox, the agent has no tools for files and commands. It is still notified of uploaded files.
- Subagents are available if there are tools for them to use, or if a run requests them.
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
        note="if `models` is not set, the model is chosen from the [environment](models.md)",
    ),
    Row(
        "Custom agent",
        "none",
        account="agent",
        chat="/agent",
        run=("agent_name",),
        note="its files are in `agents/<name>/` in the data directory",
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
        "Adding messages to a run in progress",
        "off",
        account="busy",
        chat="/busy",
        run=("steerable",),
        feature="steering",
        note="see [`steer`](../howto/handle-messages-during-a-run.md); not available in the embedded client",
    ),
    Row(
        "Thinking",
        "off",
        ("models[].supports_thinking", "models[].when_thinking_enabled"),
        run=("thinking_enabled",),
        note="the keys define whether and how the model can think; they do not turn thinking on",
    ),
    Row(
        "Reasoning effort",
        "the model's default",
        ("models[].supports_reasoning_effort",),
        run=("reasoning_effort",),
        note="the key says whether the model supports it; set a fixed effort with another key of the model",
    ),
    Row("Vision", "depends on the model", ("models[].supports_vision",), feature="vision"),
    Row("Tools", "none", ("tools", "tool_groups"), note="a custom agent selects groups of tools"),
    Row(
        "Web search and page reading",
        "on",
        ("web_tools.enabled",),
        note="while the internet can be reached; a tool of the same kind in `tools` replaces each",
    ),
    Row(
        "Summaries of long threads",
        "on",
        ("summarization.enabled",),
        chat="/compact",
        feature="summarization",
        note="the command also works while they are off; not available with the guide or the toy model",
    ),
    Row(
        "Title",
        "on",
        ("title.enabled",),
        feature="auto_title",
        note="not available with the guide or the toy model",
    ),
    Row("Guardrail", "off", ("guardrails.enabled",), feature="guardrail"),
    Row(
        "Clarifying questions",
        "on",
        note="can't be switched off; a guardrail can deny `ask_clarification`",
    ),
    Row(
        "Reading the chat",
        "on in groups",
        note="can't be switched off; a guardrail can deny `read_chat`. See "
        "[Record a chat](../howto/record-a-chat.md)",
    ),
    Row(
        "Proposing schedules",
        "on, except in scheduled runs and for apps",
        note="can't be switched off; a guardrail can deny `schedule`. See "
        "[Schedule messages](../howto/schedule-messages.md#ask-in-a-conversation)",
    ),
    Row(
        "Loop detection",
        "on: warns at {warn}, stops at {stop} identical calls with identical results",
        feature="loop_detection",
        note="to use other numbers, pass an instance",
    ),
    Row(
        "Limits of a run",
        "on: {tool_calls} tool calls, {one_tool} of one tool",
        ("run_limits",),
        feature="run_limits",
        note="also tokens and money; includes subagents",
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
        "Prompt caching",
        "on",
        ("prompt_caching.enabled", "prompt_caching.lifetime"),
        note="marks for Anthropic's models, keys for OpenAI and Mistral; other providers cache automatically",
    ),
    Row(
        "Memory",
        "on",
        ("memory.enabled", "memory.injection_enabled"),
        feature="memory",
        note="not available with the guide or the toy model; `/memory` shows and deletes memory",
    ),
    Row(
        "Subagents",
        "on",
        ("subagents.enabled", "subagents.max_concurrent", "subagents.types"),
        run=("subagent_enabled",),
        feature="subagent",
        note="by default, at most {subagents} at a time",
    ),
    Row(
        "Deferred tools",
        "off",
        feature="deferred_tools",
        note="automatic with {deferred} or more tools, some from MCP servers; otherwise, pass an instance",
    ),
    Row("Sandbox (files and commands)", "on", ("sandbox.enabled", "sandbox.use"), feature="sandbox"),
    Row(
        "Skills",
        "on",
        ("skills",),
        chat="/skill",
        note="switch each with `/skill`, the API or `extensions_config.json`; custom agents have their own",
    ),
    Row(
        "MCP servers",
        "none",
        chat="/mcp",
        note="switch each with `/mcp`, the API or `extensions_config.json`",
    ),
    Row("External agents (ACP)", "none", ("acp_agents",), note="tool group `acp`"),
    Row("Unsupported model features", "skipped", ("allow_degradation",)),
    Row(
        "Thread state",
        "SQLite",
        ("checkpointer.type",),
        note="in your own program, use `AgentClient(checkpointer=…)`; the default is in memory",
    ),
    Row("Concurrent runs", "256", ("limits.max_runs",)),
    Row("Waiting messages and size limits", "20; 100,000 characters; 20 MB", ("limits",)),
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
    from agent.core import run_meter
    from agent.middleware import loop_detection, subagent_limit

    return {
        "warn": loop_detection.WARN_AT,
        "stop": loop_detection.STOP_AT,
        "tool_calls": run_meter.TOOL_CALLS,
        "one_tool": run_meter.CALLS_OF_ONE_TOOL,
        "subagents": subagent_limit.AT_ONCE,
        "deferred": DEFERRED_TOOLS_THRESHOLD + 1,
    }
