"""Requested skills, shown to the model so that it need not read them first.

The runtime refuses `REQUESTED_SKILL` in unsigned requests, and what is shown is the installed skill, never a
text of the request. `SHOWN_SKILL` is no part of the content, which titles, memories and summaries read. It
is stored because providers cache a conversation only as long as it stays the same; in a channel of its own
it would be written into every checkpoint.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AnyMessage, HumanMessage

from agent.config.errors import ConfigErrors
from agent.core.model_request import AnyResponse, Handler, Request, change_request
from agent.core.state import ThreadState, with_shown_skill
from agent.middleware.model_response import with_update
from agent.shared.run_identity import REQUESTED_SKILL, SHOWN_SKILL
from agent.skills.discovery import read_instructions
from agent.skills.skill import Skill

log = structlog.get_logger(__name__)
MAX_SKILL = 24_000
"""Largest skill, in characters, that is shown; a longer one has to be read in parts."""
INTRO = "The skill that the following message asks for, from {path}. Follow it; you need not read that file."
_CLOSING = re.compile(r"<(?=\s*/\s*skill\b)", re.IGNORECASE)


class RequestedSkillsMiddleware(AgentMiddleware[Any, Any]):
    """Inserts the SKILL.md of a requested skill before the requesting message.

    The bot names the skill in the message (`REQUESTED_SKILL`), which nobody else may do. The message keeps
    what was shown (`SHOWN_SKILL`), so that a conversation stays the same when a skill changes or is removed,
    and the text goes with the message. A skill that this agent may not use, or longer than `MAX_SKILL`
    characters, is not shown; the note of the bot names its path. Hook: `wrap_model_call`, inside
    summarization; the texts are stored with the answer.
    """

    state_schema = ThreadState

    def __init__(self, skills: Sequence[Skill] = ()) -> None:
        super().__init__()
        self._skills = {skill.path: skill for skill in skills}

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        fresh = await self._read_new(request.messages)
        messages = [
            _add_skill(message, fresh.get(message.id or "") or message.additional_kwargs.get(SHOWN_SKILL))
            for message in request.messages
        ]
        response = await handler(change_request(request, messages=messages))
        stored = [
            with_shown_skill(message, fresh[message.id])
            for message in request.state["messages"]
            if message.id in fresh
        ]
        return with_update(response, messages=stored) if stored else response

    async def _read_new(self, messages: Sequence[AnyMessage]) -> dict[str, str]:
        """Return the text of each skill requested by an unanswered message, by message id."""
        wanted = {
            message.id: skill
            for message in _unanswered(messages)
            if message.id and SHOWN_SKILL not in message.additional_kwargs and (skill := self._find(message))
        }
        texts = [await asyncio.to_thread(_render_skill, skill) for skill in wanted.values()]
        return {number: text for number, text in zip(wanted, texts, strict=True) if text}

    def _find(self, message: AnyMessage) -> Skill | None:
        path = message.additional_kwargs.get(REQUESTED_SKILL)
        return self._skills.get(path) if isinstance(path, str) else None


def _unanswered(messages: Sequence[AnyMessage]) -> Iterable[AnyMessage]:
    """Return people's messages since the model's last answer or tool call."""
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            return
        yield message


def _render_skill(skill: Skill) -> str:
    """Return the skill in its tags, or "" if it is too long or can't be read. Blocking."""
    try:
        text = read_instructions(skill)
    except (OSError, ConfigErrors) as error:
        log.warning("skill_not_shown", skill=skill.name, problem=type(error).__name__)
        return ""
    if len(text) > MAX_SKILL:
        return ""
    body = _CLOSING.sub("&lt;", text.strip())
    return f'{INTRO.format(path=skill.path)}\n<skill name="{skill.name}">\n{body}\n</skill>'


def _add_skill(message: AnyMessage, text: object) -> AnyMessage:
    if not text or not isinstance(text, str):
        return message
    content: Any = message.content
    if isinstance(content, list):
        return message.model_copy(update={"content": [{"type": "text", "text": text}, *content]})
    return message.model_copy(update={"content": f"{text}\n\n{content}"})
