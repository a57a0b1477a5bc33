"""`/incident`: list, show and change the incidents of a chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from bot.commands.ask import prepare_handoff, start_handoff
from bot.commands.escaping import quoted
from bot.commands.registry import Command, Invocation, Result, TopicWords, number_in
from bot.features.events.card import (
    MARKS,
    format_card,
    format_changes,
    format_facts,
    format_title,
    make_buttons,
)
from bot.features.events.incident import ASSIGN_ON_CALL, DECISIONS, Incident
from bot.features.events.incident_store import (
    decide_incident,
    find_chat_incident,
    list_changes,
    list_chat_incidents,
    list_history,
    merge_incident,
    record_change,
)
from bot.features.events.incidents import EARLIER, IncidentCards
from bot.features.events.receiver import EventReceiver
from bot.features.events.silences import SilenceFailed, can_silence, create_silence
from bot.features.events.work_store import ask_about
from bot.store.audit import author_of
from bot.texts import Texts
from bot.turn import INCIDENT_TOPIC

LISTED: Final = 15
"""Maximum number of incidents in the list."""
TASKS: Final = {"ask": "", "summary": "/incident-timeline "}
"""Actions that start the agent, with the skill that it uses."""
MERGE: Final = "merge"
SILENCE: Final = "silence"
NUMBERED: Final = (MERGE, SILENCE)
"""Actions with a number after them."""
SILENCE_MINUTES: Final = 60
MAX_SILENCE: Final = 7 * 24 * 60
"""Longest silence (minutes)."""
IN_THREAD: Final = TopicWords(INCIDENT_TOPIC, ("pause", "resume", "complete", "reopen"))


async def run_incident(call: Invocation) -> Result:
    """Run `/incident`."""
    texts, db, address = call.texts, call.core.db, call.turn.address
    if not call.words:
        found = await db.transact(list_chat_incidents, address.account, address.chat, LISTED)
        return Result("\n".join(_line(one, texts) for one in found) or texts("incident_none"))
    number, *rest = number_in(call.words), *(word.lower() for word in call.words[1:])
    if not number or not _is_known(rest):
        return Result(texts("incident_usage"), refused=True)
    incident = await db.transact(find_chat_incident, address.account, address.chat, number)
    if incident is None:
        return Result(texts("incident_unknown", number=number), refused=True)
    handler = _HANDLERS.get(" ".join(rest)) or _HANDLERS[rest[0]]
    return await handler(call, incident, rest)


def _is_known(words: Sequence[str]) -> bool:
    """Return whether the words after an incident's number are an action."""
    if len(words) == 2:
        return (words[0] in NUMBERED and number_in(words[1:]) > 0) or words == ASSIGN_ON_CALL.split()
    return len(words) < 2 and words[:1] != [MERGE] and (words or [""])[0] in _HANDLERS


async def _show(call: Invocation, incident: Incident, _words: Sequence[str]) -> Result:
    history = await _history(call, incident)
    shown = "\n\n".join([format_card(incident, call.texts), history])
    is_silenceable = can_silence(call.core.config.events.sources.get(incident.source))
    buttons = make_buttons(incident, call.texts, can_silence=is_silenceable)
    return Result(shown, buttons=tuple(buttons))


async def _history(call: Invocation, incident: Incident) -> str:
    changes = await call.core.db.transact(list_changes, incident.id)
    zone = await call.core.zones.find_zone_at(call.turn.address)
    return "\n".join(format_changes(changes, zone, call.texts))


async def _decide(call: Invocation, incident: Incident, words: Sequence[str]) -> Result:
    core, texts, action = call.core, call.texts, words[0]
    timings, author = core.part(EventReceiver).find_timings(), author_of(call.turn)
    after = await core.db.transact(decide_incident, incident.id, action, author, timings, core.clock.now())
    core.part(IncidentCards).wake()
    shown, key = after or incident, "incident_done" if after else "incident_is_so"
    state = f"incident_{shown.status.value}"
    if action == "assign":
        state = "incident_assigned"
    elif action in ("pause", "resume"):
        state = "incident_paused" if shown.is_paused else "incident_resumed"
    return Result(texts(key, number=shown.id, state=texts(state)))


async def _assign_on_call(call: Invocation, incident: Incident, _words: Sequence[str]) -> Result:
    """Assign an incident to the person on call, without acknowledging it."""
    core, texts, address = call.core, call.texts, incident.address
    people = await core.on_call.list_on_call(incident.oncall, address.account, core.clock.now())
    found = next((one for one in people if one.id), None)
    if found is None:
        return Result(texts("incident_nobody_on_call", number=incident.id), refused=True)
    platform, author = core.account(address.account).platform, author_of(call.turn)
    holder = replace(author, person=f"{platform}:{found.id}", name=found.name)
    timings, now = core.part(EventReceiver).find_timings(), core.clock.now()
    await core.db.transact(decide_incident, incident.id, ASSIGN_ON_CALL, holder, timings, now)
    core.part(IncidentCards).wake()
    return Result(texts("incident_assigned_on_call", number=incident.id, name=quoted(found.name)))


async def _merge(call: Invocation, incident: Incident, words: Sequence[str]) -> Result:
    core, texts, address, into = call.core, call.texts, call.turn.address, number_in(words[1:])
    if await core.db.transact(find_chat_incident, address.account, address.chat, into) is None:
        return Result(texts("incident_unknown", number=into), refused=True)
    timings, author = core.part(EventReceiver).find_timings(), author_of(call.turn)
    merged = await core.db.transact(merge_incident, incident.id, into, author, timings, core.clock.now())
    if not merged:
        return Result(texts("incident_not_merged", number=incident.id, into=into), refused=True)
    core.part(IncidentCards).wake()
    return Result(texts("incident_now_part_of", number=incident.id, into=into))


async def _silence(call: Invocation, incident: Incident, words: Sequence[str]) -> Result:
    core, texts, author = call.core, call.texts, author_of(call.turn)
    source = core.config.events.sources.get(incident.source)
    if source is None or not can_silence(source):
        return Result(texts("incident_no_silence", name=quoted(incident.source or "?")), refused=True)
    minutes, now = min(number_in(words[1:]) or SILENCE_MINUTES, MAX_SILENCE), core.clock.now()
    try:
        await create_silence(source, incident, author.name or author.person, now, minutes * 60.0)
    except SilenceFailed as error:
        return Result(texts("incident_silence_failed", reason=str(error)), refused=True)
    await core.db.transact(record_change, incident, "silenced", author, now)
    return Result(texts("incident_silenced_for", number=incident.id, minutes=minutes))


async def _ask(call: Invocation, incident: Incident, words: Sequence[str]) -> Result:
    """Have the agent answer about an incident, with its facts and history as a quotation."""
    core, texts = call.core, call.texts
    earlier = await core.db.transact(list_history, incident, EARLIER)
    facts = "\n".join([format_facts(incident, earlier, texts), await _history(call, incident)])
    task = TASKS[words[0]] + texts(f"incident_task_{words[0]}", number=incident.id)
    handoff = prepare_handoff(call)
    refusal, interrupts = await core.db.transact(
        ask_about, incident, call.turn, task, facts, handoff, core.clock.now()
    )
    return start_handoff(call, refusal, interrupts=interrupts)


def _line(incident: Incident, texts: Texts) -> str:
    head = texts("incident_head", number=incident.id, state=texts(f"incident_{incident.status.value}"))
    return f"- {MARKS[incident.status]} {head} {format_title(incident, texts)}"


_HANDLERS: Final[Mapping[str, Callable[[Invocation, Incident, Sequence[str]], Awaitable[Result]]]] = {
    "": _show,
    MERGE: _merge,
    SILENCE: _silence,
    **dict.fromkeys(TASKS, _ask),
    **dict.fromkeys(DECISIONS, _decide),
    ASSIGN_ON_CALL: _assign_on_call,
}
INCIDENT: Final = Command(
    "incident", run_incident, argument="[NUMBER ACTION]", audited="words", topic_words=IN_THREAD
)
