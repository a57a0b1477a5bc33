"""Cards of incidents: each is the answer of a turn, which is changed whenever its incident is.

So a card is posted once even across crashes, is changed within the rate limits, and looks native on every
platform, by the same code as any other answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

import structlog

from agent.shared.aio import wait_first
from bot.config.events import EventWork
from bot.features.events.card import format_card, format_facts, format_news, make_buttons
from bot.features.events.card_store import announce_state, show_card
from bot.features.events.incident_store import (
    Incident,
    Timing,
    list_due_work,
    list_history,
    list_outdated,
    list_unannounced,
    purge_deliveries,
    settle_incidents,
)
from bot.features.events.work_store import WorkStart, drop_work, start_work
from bot.wiring import Core

log = structlog.get_logger(__name__)
EDIT_EVERY: Final = 1.0
"""Seconds between two changes of cards."""
LONGEST_NAP: Final = 30.0
DAY: Final = 86_400.0
PURGE_EVERY: Final = 3_600.0
EARLIER: Final = 5
"""Earlier incidents that the agent is told of."""


class HasTimings(Protocol):
    """Tells the times of the sources by their names."""

    @property
    def timings(self) -> Mapping[str, Timing]:
        """Return the times by the names of the sources."""
        ...


class IncidentCards:
    """Posts and changes the cards. `run` works until cancelled."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._poked = asyncio.Event()
        self._purge_at = 0.0

    def wake(self) -> None:
        """Look for changed incidents now."""
        self._poked.set()

    async def run(self, sources: HasTimings) -> None:
        """Post and change cards until cancelled."""
        while True:
            self._poked.clear()
            nap = await self.update(sources.timings)
            if nap <= EDIT_EVERY:
                await self._core.clock.sleep(nap)
            else:
                await wait_first(self._poked, self._core.clock.sleep, nap)

    async def update(self, timings: Mapping[str, Timing]) -> float:
        """Post and change the cards that are outdated. Return the seconds until the next look."""
        core, now = self._core, self._core.clock.now()
        if now >= self._purge_at:
            self._purge_at = now + PURGE_EVERY
            await core.db.transact(purge_deliveries, now - core.config.events.kept_days * DAY)
        due = await core.db.transact(settle_incidents, timings, now)
        outdated = await core.db.transact(list_outdated)
        for incident in outdated:
            account = core.account(incident.address.account)
            if not account.configured:
                continue
            texts = account.texts_at(incident.address)
            opened = await core.db.transact(
                show_card,
                incident,
                format_card(incident, texts),
                make_buttons(incident, texts),
                account.platform,
                core.new_id(),
                core.clock.now(),
            )
            if opened is not None:
                core.runs.dispatch_turn(opened)
        later = await self._announce_states(now)
        work = await self._start_work(now)
        nap = min((at - now for at in (due, later, work) if at), default=LONGEST_NAP)
        return EDIT_EVERY if outdated else min(LONGEST_NAP, max(EDIT_EVERY, nap))

    async def _announce_states(self, now: float) -> float:
        """Tell chats the states that have lasted. Return when the next ones are due (0.0: never)."""
        core = self._core
        found, later = await core.db.transact(list_unannounced, now)
        for incident in found:
            account, running = (
                core.account(incident.address.account),
                core.accounts.get(incident.address.account),
            )
            opened = await core.db.transact(
                announce_state,
                incident,
                format_news(incident, account.texts_at(incident.address)),
                account.platform,
                in_thread=running is not None and running.manifest.message_threads,
                now=now,
            )
            if opened is not None:
                core.runs.dispatch_turn(opened)
        return later

    async def _start_work(self, now: float) -> float:
        """Start the agent on incidents whose burst is over. Return when more are due (0.0: never)."""
        core = self._core
        found, later = await core.db.transact(list_due_work, now)
        for incident in found:
            account, running = (
                core.account(incident.address.account),
                core.accounts.get(incident.address.account),
            )
            work = self._find_work(incident)
            if work is None or running is None:
                await core.db.transact(drop_work, incident)
                continue
            earlier = await core.db.transact(list_history, incident, EARLIER)
            start = WorkStart(
                incident,
                work,
                format_facts(incident, earlier, account.texts_at(incident.address)),
                account.platform,
                account.model,
                in_thread=running.manifest.message_threads,
            )
            opened = await core.db.transact(start_work, start, now)
            log.info("incident_work", incident=incident.id, turn=opened.turn if opened else 0)
            if opened is not None:
                core.runs.dispatch_turn(opened)
        return later

    def _find_work(self, incident: Incident) -> EventWork | None:
        """Return the work of the route that leads to an incident's chat, or None if there is none now."""
        place = incident.address.account, incident.address.chat
        routes = self._core.config.events.routes
        return next(
            (
                route.work
                for route in routes
                if route.work
                and (route.account, route.chat) == place
                and incident.source in (route.source or (incident.source,))
            ),
            None,
        )
