"""Conversion of the agent's interrupts into questions, and marking of answered questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from agent.shared.approval_words import is_plain_no, is_yes
from bot.commands.escaping import quoted
from bot.dispatch.clarifications import decides_approval, imitates_request, strip_request_symbols
from bot.dispatch.pacing import Backoff
from bot.dispatch.reply.diff import EditPart
from bot.dispatch.reply.sender import ReplySender
from bot.dispatch.run.upload import TRANSIENT
from bot.dispatch.tool_arguments import Mask, render_arguments, render_complete, render_tool_name
from bot.domain import LOCAL_PLATFORMS, OWNER, Part, PartKind, Sender, person_of
from bot.errors import DeliveryError, RateLimited
from bot.platforms.base import TooLong
from bot.platforms.manifest import Operation
from bot.render.partial_markdown import close_fence
from bot.render.renderer import Renderer
from bot.store.interrupts import expire_approvals
from bot.store.tool_grants import GrantOffer
from bot.store.turns import list_overdue_questions
from bot.texts import Texts, in_all_languages
from bot.turn import Stopped, Turn
from bot.wiring import Core

APPROVAL = "approval"
"""Type of an interrupt that asks for the approval of a tool call."""
APPROVAL_LASTS = 24 * 3600.0
"""Time until an undecided approval expires (s)."""
EXPIRY_EVERY = 60.0
"""Interval of the checks whether questions have expired (s)."""
# Kinds of a clarification that need an introduction, because the question alone does not show them.
_LEADS = {"risk_confirmation": "ask_risk", "suggestion": "ask_suggestion"}
log = structlog.get_logger(__name__)
RETRY_SECONDS = 30.0
"""Seconds after which a failing edit of a question is given up; its turn stays open until then."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question by the agent: `text` is Markdown, `choices` are the offered answers. `approval`: a tool
    waits for the answer, so not everyone may answer. `remembered` is the offered grant for later calls,
    `covers` the call in question, `complete` the whole call if `text` shows only part of it.
    """

    text: str = ""
    choices: tuple[str, ...] = ()
    approval: bool = False
    remembered: GrantOffer | None = None
    covers: str = ""
    complete: str = ""


def read_question(value: Any, texts: Texts, mask: Callable[[str], str]) -> Question:
    """Parse an interrupt value as a question; `mask` hides secrets.

    The value is a mapping with `question` (or `message`) and `options`, and may have `kind` and `context`.
    Any other value is the question itself. For a request for approval that no feature reads, the question is
    the tool call.
    """
    if not isinstance(value, Mapping):
        return _read_clarification({"question": str(value)}, texts, mask)
    if value.get("type") != APPROVAL:
        return _read_clarification(value, texts, mask)
    tool, shown = value.get("tool"), render_arguments(value.get("args"), mask)
    complete = render_complete(tool, value.get("args"), mask) if shown.omitted else ""
    text = "\n\n".join(filter(None, [render_tool_name(tool), shown.block]))
    return Question(text, read_choices(value.get("options")), approval=True, complete=complete)


def _read_clarification(value: Mapping[str, Any], texts: Texts, mask: Mask) -> Question:
    """Parse a question by the agent, made distinguishable from an approval.

    The agent writes it, so it loses the symbols of the service's own requests, and choices that would decide
    an approval; a question that mentions them says what it is.
    """
    lead = _LEADS.get(read_text(value.get("kind")))
    context = close_fence(mask(read_text(value.get("context"))))
    asked = mask(read_text(value.get("question")) or read_text(value.get("message")))
    said = [strip_request_symbols(context), strip_request_symbols(asked)]
    offered = read_choices(value.get("options"))
    choices = tuple(one for one in offered if not decides_approval(one))
    doubtful = len(choices) < len(offered) or any(map(imitates_request, [context, asked]))
    above = [texts("ask_no_approval") if doubtful else "", texts(lead) if lead else ""]
    return Question("\n\n".join(filter(None, [*above, *said])), choices)


def read_choices(options: Any) -> tuple[str, ...]:
    """Return a question's offered answers without duplicates."""
    offered = [str(option).strip() for option in options] if isinstance(options, list) else []
    return tuple(dict.fromkeys(filter(None, offered)))


def read_text(value: Any) -> str:
    """Return a text without surrounding whitespace, or "" for a value of another type."""
    return value.strip() if isinstance(value, str) else ""


async def mark_resolved(answer: Turn, sender: ReplySender, texts: Texts) -> None:
    """Edit the question posted by `sender` to show that it is resolved; leave it unchanged if it can't be
    edited.
    """
    part = next((part for part in reversed(sender.reply.parts) if part.choices and not part.commands), None)
    if part is None or part.kind is not PartKind.TEXT or not sender.can_edit:
        return
    try:
        await _edit_question(sender, part, _resolution_line(answer, part, texts))
    except DeliveryError as problem:
        log.info("answer_not_shown", turn=sender.turn.id, problem=str(problem))
        return
    await sender.flush()


def _append_line(content: str, line: str, renderer: Renderer) -> str:
    """Append a line to a question, truncating its end to fit into one message."""
    if len(renderer.split(whole := f"{content}\n\n{line}")) <= 1:
        return whole
    if len(renderer.split(_shorten_question(content, 0, line, renderer))) > 1:
        return content
    fits, too_long = 0, len(content)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        room = len(renderer.split(_shorten_question(content, middle, line, renderer))) <= 1
        fits, too_long = (middle, too_long) if room else (fits, middle)
    return _shorten_question(content, fits, line, renderer)


def _shorten_question(content: str, length: int, line: str, renderer: Renderer) -> str:
    return "\n\n".join(filter(None, [renderer.frame(content[:length]), "…", line]))


def _drop_commands(content: str) -> str:
    """Return a decided request without the commands that would decide it, which are at its end."""
    ends = "|".join(
        re.sub(r"\\\{[^}]*\}", r"[^\n]*", re.escape(one)) for one in in_all_languages("approval_code")
    )
    return re.sub(rf"\n\n(?:{ends})\Z", "", content)


async def _edit_question(sender: ReplySender, part: Part, line: str) -> None:
    """Add a line to the question, retrying transient failures. Raises DeliveryError."""
    governor, address = sender.channel.governor, sender.turn.address
    tries = Backoff(sender.clock, RETRY_SECONDS)
    while True:
        content = _append_line(_drop_commands(part.content), line, sender.renderer)
        try:
            async with governor.required_call(address, Operation.FINAL):
                edit = EditPart(replace(part, content=content, choices=()))
                return await sender.edit_part(edit, final=True)
        except DeliveryError as problem:
            if isinstance(problem, TooLong) and sender.split_smaller(problem):
                continue
            if problem.category not in TRANSIENT:
                raise
            if isinstance(problem, RateLimited):
                governor.add_penalty(address, problem.retry_after, account_wide=problem.account_wide)
            await tries.pause(problem)


def _resolution_line(answer: Turn, part: Part, texts: Texts) -> str:
    if answer.stopped is Stopped.LEFT:
        return texts("answered_left")
    if not answer.messages:
        return texts("answered_stopped" if answer.stopped else "answered_never")
    message = answer.messages[-1]
    said = message.text.strip().casefold()
    chosen = next((choice for choice in part.choices if choice.casefold() == said), "")
    who = _name_sender(message.sender, answer.platform, texts)
    if (decides_approval(chosen) or answer.covers) and is_plain_no(message.text):
        return texts("answered_rejected", who=who)
    if chosen:
        return texts("answered_with", choice=quoted(chosen), who=who)
    if not answer.covers:
        return texts("answered_otherwise", who=who)
    return texts("answered_approved" if is_yes(message.text) else "answered_unapproved", who=who)


def _name_sender(sender: Sender, platform: str, texts: Texts) -> str:
    """Return the name of who answered. In the web console and the terminal, the owner has none."""
    if person_of(platform, sender) in {f"{local}:{OWNER}" for local in LOCAL_PLATFORMS}:
        return texts("answerer_here")
    return quoted(sender.name or sender.id)


async def expire_questions(core: Core) -> None:
    """Expire approvals without a decision after APPROVAL_LASTS seconds, and wake turns of apps that have
    waited long enough for an answer to a question. Works until cancelled.
    """
    while True:
        now = core.clock.now()
        for conversation in await core.db.transact(expire_approvals, now - APPROVAL_LASTS, now):
            log.info("approval_expired", conversation=conversation)
            core.runs.wake_conversation(conversation)
        for conversation in await core.db.transact(list_overdue_questions, now):
            core.runs.wake_conversation(conversation)
        await core.clock.sleep(EXPIRY_EVERY)
