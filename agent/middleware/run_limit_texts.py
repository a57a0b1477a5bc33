"""Texts about the limits of a run, for the model and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.core.run_meter import LimitKind, LimitState, RunMeter
from agent.shared.text import choose_text

WARNING = (
    "[System notice] This run has used {used} of {limit}. Do the most important part of what is left, "
    "then answer; start nothing new."
)
ONE_TOOL_WARNING = (
    "[System notice] This run has called {tool} {used} of {limit} times. Use it only for what is essential, "
    "or go on without it."
)
LAST = (
    "[System notice] This run has reached its limit of {limit}, so no more tools are run. Answer now, "
    "without tools: say what you did, where the results are, and what is missing."
)
REFUSED = "This call was not made: the run has reached its limit of {limit}. {advice}"
ADVICE_TOOL = "Do not call this tool again; go on without it."
ADVICE_ALL = "Answer now with what you have."
_PEOPLE: Mapping[str, Mapping[str, str]] = {
    "en": {
        "end": "I stopped here because this run reached its limit of {limit}.",
        "too_small": "This conversation is too long for the limit of {limit} per run. The "
        "command `new` starts a new one; or have the limit raised (run_limits in the configuration).",
        "work": "Done so far: {work}.",
        "nothing": "No tool was used.",
        "todos": "{done} of {all} to-do item{s} completed",
        "call": "{tool} ({count})",
        "join": ", ",
        "next": "Send another message to continue.",
        "tool_calls": "{limit:,.0f} tool call{s}",
        "one_tool": "{limit:,.0f} call{s} of {tool}",
        "tokens": "{limit:,.0f} token{s}",
        "cost": "{limit:g} {currency}",
        "space": " ",
    },
    "zh": {
        "end": "本次运行已达到上限（{limit}），我先停在这里。",
        "too_small": "这个对话太长，超出了每次运行的上限（{limit}）。请用命令 `new` 开始新对话，"
        "或请管理员调高上限（配置项 run_limits）。",
        "work": "目前已完成：{work}。",
        "nothing": "还没有使用任何工具。",
        "todos": "待办事项完成 {done}/{all} 项",
        "call": "{tool} {count} 次",
        "join": "、",
        "next": "如需继续，请再发一条消息。",
        "tool_calls": "{limit:,.0f} 次工具调用",
        "one_tool": "{tool} 调用 {limit:,.0f} 次",
        "tokens": "{limit:,.0f} 个 Token",
        "cost": "{limit:g} {currency}",
        "space": "",
    },
}


def describe_limit(state: LimitState, locale: str, currency: str = "") -> str:
    """Return the limit, such as `300 tool calls`."""
    form = choose_text(_PEOPLE, locale)[str(state.kind)]
    return form.format(limit=state.limit, tool=state.tool, currency=currency, s=_plural(state.limit)).strip()


def warning_notice(state: LimitState, meter: RunMeter) -> str:
    """Return the warning for the model."""
    if state.kind is LimitKind.ONE_TOOL:
        return ONE_TOOL_WARNING.format(tool=state.tool, used=int(state.used), limit=int(state.limit))
    used = f"{state.used:,.2f}" if state.kind is LimitKind.COST else f"{state.used:,.0f}"
    return WARNING.format(used=used, limit=describe_limit(state, "en", meter.limits.currency))


def last_notice(state: LimitState, meter: RunMeter) -> str:
    """Return the notice for the model that this is its last answer."""
    return LAST.format(limit=describe_limit(state, "en", meter.limits.currency))


def refusal(state: LimitState) -> str:
    """Return the result of a tool call that a limit forbids."""
    advice = ADVICE_TOOL if state.kind is LimitKind.ONE_TOOL else ADVICE_ALL
    return REFUSED.format(limit=describe_limit(state, "en"), advice=advice)


def explain_end(
    state: LimitState,
    meter: RunMeter,
    todos: Sequence[Mapping[str, Any]],
    locale: str,
    *,
    with_work: bool,
) -> str:
    """Return the note for people about why the run stopped, and what was done if the model does not say
    so.
    """
    texts = choose_text(_PEOPLE, locale)
    if not state.used and not meter.calls:
        return texts["too_small"].format(limit=describe_limit(state, locale, meter.limits.currency))
    parts = [texts["end"].format(limit=describe_limit(state, locale, meter.limits.currency))]
    if with_work:
        parts.append(describe_work(meter, todos, locale))
    return texts["space"].join([*parts, texts["next"]])


def describe_work(meter: RunMeter, todos: Sequence[Mapping[str, Any]], locale: str) -> str:
    """Return a sentence about a run's work so far."""
    texts = choose_text(_PEOPLE, locale)
    work = [texts["call"].format(tool=tool, count=count) for tool, count in meter.done.most_common()]
    if todos:
        done = sum(item["status"] == "completed" for item in todos)
        work.insert(0, texts["todos"].format(done=done, all=len(todos), s=_plural(len(todos))))
    return texts["work"].format(work=texts["join"].join(work)) if work else texts["nothing"]


def _plural(count: float) -> str:
    return "" if count == 1 else "s"
