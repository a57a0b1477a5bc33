"""The current date for the model, added without changing earlier requests of the conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AnyMessage, HumanMessage

from agent.core.chat_facts import read_local_day
from agent.core.model_request import AnyResponse, Handler, Request, change_request, is_from_person
from agent.core.state import ThreadState
from agent.middleware.model_response import messages_since_user, with_conversation, with_update
from agent.shared.run_identity import NOTE_SOURCE

SOURCE = "current_date"
FIRST = ""
"""Key in `days` of the day on which the conversation began."""
PROMPT = "Today is {day}. If the date changes, a note in the conversation tells the new one."
ALWAYS = "Today is {day}."
NOTE = "(Note from the service: today is {day}.)"


def format_day(day: date) -> str:
    """Return a date as the prompt shows it."""
    return f"{day:%A, %d %B %Y}"


def utc_today() -> date:
    return datetime.now(UTC).date()


class CurrentDateMiddleware(AgentMiddleware[Any, Any]):
    """Adds the date at the end of the system prompt, and a note before the first message of each later day.

    Providers cache the beginning of a request, so the system prompt keeps the first day of the conversation.
    The channel `days` holds the days by the message that follows the note. When a summary has replaced the
    newest note, another one is added. A run that tells the date of its chat's time zone has that one, others
    have that of `today`. Hook: `wrap_model_call`, inside summarization; days are stored with the answer.
    """

    state_schema = ThreadState

    def __init__(self, *, today: Callable[[], date] = utc_today, is_fixed: bool = True) -> None:
        super().__init__()
        self._today = today
        self._is_fixed = is_fixed

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        today = read_local_day(request.runtime) or self._today()
        if not self._is_fixed:
            return await handler(with_conversation(request, ALWAYS.format(day=format_day(today))))
        state: Mapping[str, Any] = request.state
        known: Mapping[str, str] = state.get("days") or {}
        new = _find_new_days(known, request.messages, today.isoformat())
        days = {**known, **new}
        dated = with_conversation(request, PROMPT.format(day=_render(days[FIRST])))
        response = await handler(change_request(dated, messages=_with_notes(request.messages, days)))
        return with_update(response, days=new) if new else response


def _find_new_days(known: Mapping[str, str], messages: Sequence[AnyMessage], today: str) -> dict[str, str]:
    if FIRST not in known:
        return {FIRST: today}
    shown = [known[m.id] for m in messages if m.id and m.id in known and is_from_person(m)]
    current = shown[-1] if shown else known[FIRST]
    is_outdated = current < max(known.values())
    # Within a turn the date stays, since its note would change what the last request contained.
    if current == today or not (is_outdated or not messages_since_user(messages)):
        return {}
    people = [m.id for m in messages if m.id and is_from_person(m)]
    return {people[-1]: today} if people else {}


def _with_notes(messages: Sequence[AnyMessage], days: Mapping[str, str]) -> list[AnyMessage]:
    noted: list[AnyMessage] = []
    for message in messages:
        if message.id and message.id in days and is_from_person(message):
            text = NOTE.format(day=_render(days[message.id]))
            noted.append(HumanMessage(text, additional_kwargs={NOTE_SOURCE: SOURCE}))
        noted.append(message)
    return noted


def _render(day: str) -> str:
    return format_day(date.fromisoformat(day))
