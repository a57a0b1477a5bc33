"""Turn an agent's interrupt into a question for people: text, context, and choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.dispatch.approvals.render_arguments import render_arguments, render_tool_name
from bot.render.partial_markdown import close_fence
from bot.store.interrupts import GrantOffer
from bot.texts import Texts

APPROVAL = "approval"
# Kinds of a clarification that need an introduction, because the question alone does not show them.
_LEADS = {"risk_confirmation": "ask_risk", "suggestion": "ask_suggestion"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the agent: `text` is Markdown, `choices` are the offered answers. `approval`: a tool
    waits for the answer, so not everybody may answer. `remembered` is the grant that it offers for later
    calls.
    """

    text: str = ""
    choices: tuple[str, ...] = ()
    approval: bool = False
    remembered: GrantOffer | None = None


def read_question(value: Any, texts: Texts, mask: Callable[[str], str]) -> Question:
    """Return the question in an interrupt's value; `mask` hides secrets.

    The value is a mapping with `question` (or `message`) and `options`. If its `type` is "approval" it also
    has `tool` and `args`, and `remember` if the approval may cover later calls; otherwise it may have `kind`
    and `context`. Any other value is the question itself.
    """
    if not isinstance(value, Mapping):
        return Question(mask(str(value)))
    approval = value.get("type") == APPROVAL
    above = _tool_lines(value, texts, mask) if approval else _context_lines(value, texts, mask)
    asked = mask(_read_text(value.get("question")) or _read_text(value.get("message")))
    choices, remembered = _read_choices(value.get("options")), None
    if approval and value.get("remember") is True and len(choices) == 2 and _read_text(value.get("tool")):
        remembered = GrantOffer(_read_text(value["tool"]), texts("approve_here"), texts("approve_always"))
        choices = (choices[0], remembered.here, remembered.always, choices[1])
    return Question("\n\n".join(filter(None, [*above, asked])), choices, approval, remembered)


def _read_choices(options: Any) -> tuple[str, ...]:
    offered = [str(option).strip() for option in options] if isinstance(options, list) else []
    return tuple(dict.fromkeys(filter(None, offered)))


def _context_lines(value: Mapping[str, Any], texts: Texts, mask: Callable[[str], str]) -> list[str]:
    """Return the context of a question: the agent's own text, which is Markdown."""
    lead = _LEADS.get(_read_text(value.get("kind")))
    context = mask(_read_text(value.get("context")))
    return [texts(lead) if lead else "", close_fence(context)]


def _tool_lines(value: Mapping[str, Any], texts: Texts, mask: Callable[[str], str]) -> list[str]:
    """Return the tool that waits for approval, with its arguments.

    They may come from anybody whose text the agent has read, so they are shown literally and never as markup.
    """
    shown = render_arguments(value.get("args"), mask)
    return [
        texts("approval_title", tool=render_tool_name(value.get("tool"))),
        shown.block or texts("approval_bare"),
        texts("approval_cut", count=shown.omitted) if shown.omitted else "",
    ]


def _read_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
