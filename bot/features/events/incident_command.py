"""`/incident`: list, show and change the incidents of a chat."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from bot.commands.escaping import quoted
from bot.commands.registry import Command, Invocation, Result, number_in
from bot.features.events.alerts import Status
from bot.features.events.card import MARKS, format_card, make_buttons
from bot.features.events.incident_store import (
    Incident,
    IncidentChange,
    Timing,
    find_chat_incident,
    list_changes,
    list_chat_incidents,
    take_incident,
)
from bot.features.events.incidents import IncidentCards
from bot.features.events.receiver import EventReceiver
from bot.store.audit import author_of
from bot.texts import Texts

LISTED: Final = 15
"""Maximum number of incidents in the list, and of changes shown for one incident."""
ACTIONS: Final = {"ack": Status.ACKNOWLEDGED, "resolve": Status.RESOLVED, "reopen": None}


async def run_incident(call: Invocation) -> Result:
    """Run `/incident`."""
    texts, db, address = call.texts, call.core.db, call.turn.address
    if not call.words:
        found = await db.transact(list_chat_incidents, address.account, address.chat, LISTED)
        return Result("\n".join(_line(one, texts) for one in found) or texts("incident_none"))
    number, *actions = number_in(call.words), *(word.lower() for word in call.words[1:])
    if not number or len(actions) > 1 or not set(actions) <= ACTIONS.keys():
        return Result(texts("incident_usage"), refused=True)
    incident = await db.transact(find_chat_incident, address.account, address.chat, number)
    if incident is None:
        return Result(texts("incident_unknown", number=number), refused=True)
    return await (_change(call, incident, ACTIONS[actions[0]]) if actions else _show(call, incident))


async def _show(call: Invocation, incident: Incident) -> Result:
    changes = await call.core.db.transact(list_changes, incident.id)
    zone = await call.core.zones.find_zone_at(call.turn.address)
    lines = [
        _format_change(one, f"{datetime.fromtimestamp(one.at, zone):%m-%d %H:%M}", call.texts)
        for one in changes[-LISTED:]
    ]
    shown = "\n\n".join([format_card(incident, call.texts), "\n".join(lines)])
    return Result(shown, buttons=tuple(make_buttons(incident, call.texts)))


async def _change(call: Invocation, incident: Incident, status: Status | None) -> Result:
    core, texts = call.core, call.texts
    timing = core.part(EventReceiver).find_timings().get(incident.source, Timing(0.0, 0.0))
    after = await core.db.transact(
        take_incident, incident.id, status, author_of(call.turn), timing, core.clock.now()
    )
    core.part(IncidentCards).wake()
    shown, key = after or incident, "incident_done" if after else "incident_is_so"
    return Result(texts(key, number=shown.id, state=texts(f"incident_{shown.status.value}")))


def _line(incident: Incident, texts: Texts) -> str:
    head = texts("incident_head", number=incident.id, state=texts(f"incident_{incident.status.value}"))
    return f"- {MARKS[incident.status]} {head} {quoted(incident.title or incident.key)}"


def _format_change(change: IncidentChange, at: str, texts: Texts) -> str:
    state = texts(f"incident_{change.status.value}")
    if not change.person:
        return texts("incident_change", at=at, state=state)
    return texts("incident_change_by", at=at, state=state, name=quoted(change.name or change.person))


INCIDENT: Final = Command("incident", run_incident, argument="[NUMBER ACTION]", audited="words")
