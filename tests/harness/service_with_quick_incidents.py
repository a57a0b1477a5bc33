"""`roebot` with short times for incidents: `python -m tests.harness.service_with_quick_incidents run …`."""

from __future__ import annotations

from dataclasses import replace

from bot.cli import main
from bot.features.events import delivery_store, incident_store, receiver
from bot.features.events.sources.alertmanager import ALERTMANAGER

LASTS = 2.0
BURST_QUIET = 1.0
INTERVAL = 3.5
"""Seconds after which the Alertmanagers of the tests have corrected what a lagging one sent."""

if __name__ == "__main__":
    incident_store.LASTS = LASTS  # type: ignore[misc]
    delivery_store.BURST_QUIET = BURST_QUIET  # type: ignore[misc]
    receiver.KINDS = {"alertmanager": replace(ALERTMANAGER, interval=INTERVAL)}
    main()
