"""Mark a question as answered: replace its buttons by the answer and who gave it."""

from __future__ import annotations

from dataclasses import replace

import structlog

from bot.commands.escaping import quoted
from bot.dispatch.pacing.governor import Backoff
from bot.dispatch.reply.sender import ReplySender
from bot.dispatch.reply.state import EditPart
from bot.dispatch.run.request import TRANSIENT
from bot.domain import Part, PartKind, Stopped, Turn
from bot.errors import DeliveryError, RateLimited
from bot.platforms.base import EditsMessages, Operation
from bot.render.renderer import Renderer
from bot.texts import Texts

log = structlog.get_logger(__name__)

RETRY_SECONDS = 30.0
"""Seconds after which a failing edit of a question is given up; its turn stays open until then."""


async def mark_resolved(answer: Turn, sender: ReplySender, texts: Texts) -> None:
    """Edit the question that `sender` posted; one that can't be edited stays as it is."""
    part = next((part for part in reversed(sender.reply.parts) if part.choices), None)
    adapter = sender.adapter
    if part is None or part.kind is not PartKind.TEXT or not isinstance(adapter, EditsMessages):
        return
    content = _append_line(part.content, _resolution_line(answer, part, texts), adapter.renderer)
    try:
        await _edit_question(sender, replace(part, content=content, choices=()))
    except DeliveryError as problem:
        log.info("answer_not_shown", turn=sender.turn.id, problem=str(problem))
        return
    await sender.flush()


def _append_line(content: str, line: str, renderer: Renderer) -> str:
    """Append a line to a question within one message; the end of a long question is cut."""
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


async def _edit_question(sender: ReplySender, part: Part) -> None:
    """Edit the question, with retries of transient failures. Raises DeliveryError."""
    governor, address = sender.outlet.governor, sender.turn.address
    tries = Backoff(sender.clock, RETRY_SECONDS)
    while True:
        try:
            async with governor.required_call(address, Operation.FINAL):
                return await sender.edit_part(EditPart(part), final=True)
        except DeliveryError as problem:
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
    who = quoted(message.sender.name or message.sender.id)
    return texts("answered_with", choice=quoted(chosen), who=who) if chosen else texts("answered", who=who)
