"""Cards of incidents: each is the answer of a turn and is updated when its incident changes.

The code that delivers answers thus also posts each card once, even across crashes, edits it within the rate
limits, and renders it natively on every platform.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import structlog

from agent.shared.aio import wait_first
from bot.domain import Mention
from bot.faults import EventStep, reach
from bot.features.events.card import format_card, format_facts, format_news, make_buttons
from bot.features.events.card_store import announce_state, show_card
from bot.features.events.delivery_store import purge_deliveries
from bot.features.events.incident import Incident, Timing
from bot.features.events.incident_store import (
    Due,
    find_next_due,
    list_changes,
    list_due,
    list_history,
    list_open_incidents,
    list_outdated,
    settle_incidents,
    shelve_incident,
)
from bot.features.events.silences import can_silence
from bot.features.events.work_store import start_work
from bot.store.connection import Connection
from bot.store.open_work import Reach
from bot.turn import OpenedTurn
from bot.wiring import Core

log = structlog.get_logger(__name__)
EDIT_EVERY: Final = 1.0
"""Seconds between two rounds of updates."""
LONGEST_NAP: Final = 30.0
DAY: Final = 86_400.0
PURGE_EVERY: Final = 3_600.0
EARLIER: Final = 5
"""Maximum number of earlier incidents passed to the agent."""


class IncidentCards:
    """Posts and updates cards, announces states, and starts the agent. `run` works until canceled."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._poked = asyncio.Event()
        self._purge_at = 0.0

    def collect_overview(self, connection: Connection, reach: Reach, _midnight: float) -> Mapping[str, Any]:
        """Return the open incidents of the accounts within reach."""
        return {"incidents": list_open_incidents(connection, reach)}

    def wake(self) -> None:
        """Check for changed incidents now."""
        self._poked.set()

    async def run(self, find_timings: Callable[[], Mapping[str, Timing]]) -> None:
        """Post and update cards until canceled. `find_timings` returns the times of the sources by name."""
        while True:
            self._poked.clear()
            nap = await self.update(find_timings())
            if nap <= EDIT_EVERY:
                await self._core.clock.sleep(nap)
            else:
                await wait_first(self._poked, self._core.clock.sleep, nap)

    async def update(self, timings: Mapping[str, Timing]) -> float:
        """Do everything that is due. Return the seconds until the next update."""
        core, now = self._core, self._core.clock.now()
        if now >= self._purge_at:
            self._purge_at = now + PURGE_EVERY
            await core.db.transact(purge_deliveries, now - core.config.events.kept_days * DAY)
        await core.db.transact(settle_incidents, timings, now)
        for incident in await core.db.transact(list_outdated, now):
            await self._show_card(incident)
        for incident in await core.db.transact(list_due, Due.ANNOUNCE, now):
            await self._announce_state(incident, now)
        for incident in await core.db.transact(list_due, Due.WORK, now):
            await self._start_work(incident, now)
        next_due = await core.db.transact(find_next_due)
        return LONGEST_NAP if next_due is None else min(LONGEST_NAP, max(EDIT_EVERY, next_due - now))

    async def _show_card(self, incident: Incident) -> None:
        core, account = self._core, self._core.account(incident.address.account)
        if not account.configured:
            await core.db.transact(shelve_incident, incident)
            return
        texts = account.texts_at(incident.address)
        on_call: Sequence[Mention] = ()
        if incident.oncall and not incident.is_ended:
            on_call = await core.on_call.find_mentions(incident.oncall, account.name, incident.opened_at)
        is_silenceable = can_silence(core.config.events.sources.get(incident.source))
        opened = await core.db.transact(
            show_card,
            incident,
            format_card(incident, texts, on_call),
            make_buttons(incident, texts, can_silence=is_silenceable),
            account.platform,
            core.new_id(),
            core.clock.now(),
        )
        self._dispatch(opened, EventStep.CARD_STORED)

    async def _announce_state(self, incident: Incident, now: float) -> None:
        core, account = self._core, self._core.account(incident.address.account)
        changes = await core.db.transact(list_changes, incident.id)
        zone = await core.zones.find_zone_at(incident.address)
        news = format_news(incident, account.texts_at(incident.address), changes, zone)
        of, in_thread = (incident, news, account.platform), self._has_threads(incident)
        opened = await core.db.transact(announce_state, *of, in_thread=in_thread, now=now)
        self._dispatch(opened, EventStep.STATE_ANNOUNCED)

    async def _start_work(self, incident: Incident, now: float) -> None:
        core, account = self._core, self._core.account(incident.address.account)
        earlier = await core.db.transact(list_history, incident, EARLIER)
        facts = format_facts(incident, earlier, account.texts_at(incident.address))
        model = account.profile_at(incident.address.chat, incident.address.topic).get("model")
        of, in_thread = (incident, facts, account.platform, model), self._has_threads(incident)
        opened = await core.db.transact(start_work, *of, now, in_thread=in_thread)
        log.info("incident_work", incident=incident.id, turn=opened.turn if opened else 0)
        self._dispatch(opened, EventStep.WORK_QUEUED)

    def _has_threads(self, incident: Incident) -> bool:
        running = self._core.accounts.get(incident.address.account)
        return running is not None and running.manifest.message_threads

    def _dispatch(self, opened: OpenedTurn | None, step: EventStep) -> None:
        if opened is not None:
            reach(step)
            self._core.runs.dispatch_turn(opened)
