"""Seal the audit log, with a key and a record of its end in the data directory, outside the database."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import asdict
from pathlib import Path

import structlog

from agent.shared.aio import shielded
from agent.shared.atomic_file import replace_file
from bot.clock import Clock
from bot.errors import StoreError, StoreUnavailable
from bot.features.privacy.audit_chain import ChainLink, purge_audit, seal_events
from bot.store import Database

log = structlog.get_logger(__name__)

KEY_FILE = "audit.key"
HEAD_FILE = "audit.head"
SEAL_EVERY = 5.0
"""Seconds between two sealings: events of the last seconds are not protected yet."""
PURGE_EVERY = 6 * 3600.0
AUDIT_KEPT = 400 * 24 * 3600.0
"""Retention of audit events in seconds (400 days)."""
KEY_BYTES = 32


class AuditSealer:
    """Seals new audit events and deletes old ones. `run` works until cancelled, and seals once more then."""

    def __init__(self, db: Database, clock: Clock, home: Path) -> None:
        self._db = db
        self._clock = clock
        self._home = home
        self._key: bytes | None = None
        self._purge_at = 0.0
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Seal events every few seconds until cancelled."""
        try:
            while True:
                await self._work()
                await self._clock.sleep(SEAL_EVERY)
        finally:
            await self._work()

    async def _work(self) -> None:
        try:
            await self.seal()
            if self._clock.now() >= self._purge_at:
                await self.purge()
                self._purge_at = self._clock.now() + PURGE_EVERY
        except StoreUnavailable:
            return  # tried again at the next interval
        except (OSError, StoreError) as error:
            log.error("audit_not_sealed", reason=str(error))

    async def seal(self) -> int:
        """Seal all waiting events and return the last position. Raises OSError and StoreError.

        Cancellation waits for the end: two writers of the head's file could leave the older one.
        """
        return await shielded(self._seal())

    async def _seal(self) -> int:
        async with self._one_at_a_time:
            key = await self._load_key()
            head = await asyncio.to_thread(load_head, self._home)
            while (reached := await self._db.transact(seal_events, key, head)) is not None:
                head = reached
                await asyncio.to_thread(store_head, self._home, head)
            return head.position

    async def purge(self) -> int:
        """Delete the events that are too old, and return their number. Raises OSError and StoreError."""
        async with self._one_at_a_time:
            key = await self._load_key()
        return await self._db.transact(purge_audit, key, self._clock.now() - AUDIT_KEPT)

    async def _load_key(self) -> bytes:
        if self._key is None:
            self._key = await asyncio.to_thread(create_key, self._home)
        return self._key


def create_key(home: Path) -> bytes:
    """Return the key of the data directory; create it if there is none.

    Blocking. Raises OSError, and StoreError for a damaged file.
    """
    found = load_key(home)
    if found is None:
        found = secrets.token_bytes(KEY_BYTES)
        replace_file(home / KEY_FILE, found.hex())
    return found


def load_key(home: Path) -> bytes | None:
    """Return the key of the data directory, or None if there is none.

    Blocking. Raises OSError, and StoreError for a damaged file.
    """
    try:
        text = (home / KEY_FILE).read_text().strip()
        key = bytes.fromhex(text)
    except FileNotFoundError:
        return None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreError(f"{home / KEY_FILE} is damaged; restore it from a backup")
    return key


def load_head(home: Path) -> ChainLink:
    """Return the recorded end of the log, the start if none is recorded.

    Blocking. Raises OSError, and StoreError for a damaged file.
    """
    try:
        found = json.loads((home / HEAD_FILE).read_text())
        return ChainLink(int(found["position"]), str(found["seal"]))
    except FileNotFoundError:
        return ChainLink()
    except (ValueError, TypeError, KeyError):
        raise StoreError(f"{home / HEAD_FILE} is damaged; restore it from a backup") from None


def store_head(home: Path, head: ChainLink) -> None:
    """Record the end of the log. Blocking. Raises OSError."""
    replace_file(home / HEAD_FILE, json.dumps(asdict(head)))
