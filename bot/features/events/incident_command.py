"""`/incident`: list, show and change the incidents of a chat."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from bot.commands.ask import prepare_handoff, start_handoff
from bot.commands.escaping import quoted
from bot.commands.registry import Command, Invocation, Result, TopicWords, number_in
from bot.features.events.card import MARKS, format_card, format_facts, format_title, make_buttons
from bot.features.events.incident import DECISIONS, Incident, IncidentChange
from bot.features.events.incident_store import (
    decide_incident,
    find_chat_incident,
    list_changes,
    list_chat_incidents,
    list_history,
    merge_incident,
)
from bot.features.events.incidents import EARLIER, IncidentCards
from bot.features.events.receiver import EventReceiver
from bot.features.events.work_store import ask_about
from bot.store.audit import author_of
from bot.texts import Texts
from bot.turn import INCIDENT_TOPIC

LISTED: Final = 15
"""Maximum number of incidents in the list, and of changes shown for one incident."""
TASKS: Final = {"ask": "", "summary": "/incident-timeline "}
"""Actions that start the agent, with the skill that it uses."""
MERGE: Final = "merge"
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
    if not rest:
        return await _show(call, incident)
    if rest[0] in TASKS:
        return await _ask(call, incident, rest[0])
    return await (
        _merge(call, incident, number_in(rest[1:])) if len(rest) > 1 else _decide(call, incident, rest[0])
    )


def _is_known(words: list[str]) -> bool:
    """Return whether the words after a number are an action."""
    if len(words) == 2:
        return words[0] == MERGE and number_in(words[1:]) > 0
    return not words or (len(words) == 1 and words[0] in {*DECISIONS, *TASKS})


async def _show(call: Invocation, incident: Incident) -> Result:
    history = await _history(call, incident)
    shown = "\n\n".join([format_card(incident, call.texts), history])
    return Result(shown, buttons=tuple(make_buttons(incident, call.texts)))


async def _history(call: Invocation, incident: Incident) -> str:
    changes = await call.core.db.transact(list_changes, incident.id)
    zone = await call.core.zones.find_zone_at(call.turn.address)
    return "\n".join(
        _format_change(one, f"{datetime.fromtimestamp(one.at, zone):%m-%d %H:%M}", call.texts)
        for one in changes[-LISTED:]
    )


async def _decide(call: Invocation, incident: Incident, action: str) -> Result:
    core, texts = call.core, call.texts
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


async def _merge(call: Invocation, incident: Incident, into: int) -> Result:
    core, texts, address = call.core, call.texts, call.turn.address
    if await core.db.transact(find_chat_incident, address.account, address.chat, into) is None:
        return Result(texts("incident_unknown", number=into), refused=True)
    timings, author = core.part(EventReceiver).find_timings(), author_of(call.turn)
    merged = await core.db.transact(merge_incident, incident.id, into, author, timings, core.clock.now())
    if not merged:
        return Result(texts("incident_not_merged", number=incident.id, into=into), refused=True)
    core.part(IncidentCards).wake()
    return Result(texts("incident_now_part_of", number=incident.id, into=into))


async def _ask(call: Invocation, incident: Incident, action: str) -> Result:
    """Have the agent answer about an incident, with its facts and history as a quotation."""
    core, texts = call.core, call.texts
    earlier = await core.db.transact(list_history, incident, EARLIER)
    facts = "\n".join([format_facts(incident, earlier, texts), await _history(call, incident)])
    task = TASKS[action] + texts(f"incident_task_{action}", number=incident.id)
    handoff = prepare_handoff(call)
    refusal, interrupts = await core.db.transact(
        ask_about, incident, call.turn, task, facts, handoff, core.clock.now()
    )
    return start_handoff(call, refusal, interrupts=interrupts)


def _line(incident: Incident, texts: Texts) -> str:
    head = texts("incident_head", number=incident.id, state=texts(f"incident_{incident.status.value}"))
    return f"- {MARKS[incident.status]} {head} {format_title(incident, texts)}"


def _format_change(change: IncidentChange, at: str, texts: Texts) -> str:
    state = texts(f"incident_{change.kind}")
    if not change.person:
        return texts("incident_change", at=at, state=state)
    return texts("incident_change_by", at=at, state=state, name=quoted(change.name or change.person))


INCIDENT: Final = Command(
    "incident", run_incident, argument="[NUMBER ACTION]", audited="words", topic_words=IN_THREAD
)
