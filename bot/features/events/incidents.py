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
from bot.features.events.card import format_card
from bot.features.events.card_store import show_card
from bot.features.events.incident_store import Timing, list_outdated, purge_deliveries, settle_incidents
from bot.wiring import Core

log = structlog.get_logger(__name__)
EDIT_EVERY: Final = 1.0
"""Seconds between two changes of cards."""
LONGEST_NAP: Final = 30.0
DAY: Final = 86_400.0
PURGE_EVERY: Final = 3_600.0


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
            text = format_card(incident, account.texts_at(incident.address))
            opened = await core.db.transact(
                show_card, incident, text, account.platform, core.new_id(), core.clock.now()
            )
            if opened is not None:
                core.runs.dispatch_turn(opened)
        if outdated:
            return EDIT_EVERY
        return min(LONGEST_NAP, max(EDIT_EVERY, due - now)) if due else LONGEST_NAP
