"""Watch config.yaml while the service is running. An invalid change leaves the last valid configuration
active.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.config.errors import ConfigErrors
from agent.config.reader import FILE_NAME, find_config
from agent.shared.aio import wait_first
from agent.shared.last_good import Stamp, file_stamp
from bot.clock import Clock
from bot.config.loader import LoadedConfig, load_config, load_file
from bot.config.models import Config
from bot.config.versions import ConfigFile


@dataclass(frozen=True, slots=True)
class Reloaded:
    """A valid change. `sections` are the changed ones, such as `access` or `channels.web`."""

    loaded: LoadedConfig
    sections: frozenset[str]


@dataclass(frozen=True, slots=True)
class Rejected:
    """An invalid change; the previous configuration stays active."""

    errors: ConfigErrors


Outcome = Reloaded | Rejected


@dataclass(frozen=True, slots=True)
class _Look:
    """Snapshot of a file. Its content is reread until two consecutive snapshots have the same stamp."""

    stamp: Stamp
    digest: str
    is_repeated: bool = field(compare=False)


class ConfigWatcher:
    """Polls the file every `interval` seconds.

    A change is loaded once two polls in a row see the same content, so that a half-written file is ignored. A
    removed or emptied file is an invalid change. File access runs in the loop's executor. `explicit`, `env`,
    `cwd` and `home` are those of load_config; without a file, one that appears later is loaded.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        *,
        explicit: Path | None,
        env: Mapping[str, str],
        cwd: Path,
        clock: Clock,
        interval: float = 1.0,
        home: Path | None = None,
    ) -> None:
        self._current = loaded
        self._explicit = explicit
        self._env = env
        self._cwd = cwd
        self._home = home
        self._clock = clock
        self._interval = interval
        self._stopped = asyncio.Event()
        self._lock = asyncio.Lock()
        self._known_digest = loaded.fingerprint
        self._last: _Look | None = None

    @property
    def current(self) -> LoadedConfig:
        """Return the last valid configuration."""
        return self._current

    def open_file(self) -> ConfigFile:
        """Return the file to change, which may not exist yet. Blocking. Raises ConfigErrors."""
        path = self._current.path or find_config(self._explicit, self._env, self._cwd, self._home)
        if path is None:
            folder = self._cwd if self._home is None or os.access(self._cwd, os.W_OK) else self._home
            path = folder / FILE_NAME
        return ConfigFile(path, self._home or self._cwd, self._env)

    async def run(self, report: Callable[[Outcome], Awaitable[None]]) -> None:
        """Report each change until stop() or cancellation."""
        while not self._stopped.is_set():
            outcome = await self.look()
            if outcome is not None:
                await report(outcome)
            await wait_first(self._stopped, self._clock.sleep, self._interval)

    def stop(self) -> None:
        """Stop `run`, interrupting its pause."""
        self._stopped.set()

    async def look(self) -> Outcome | None:
        """Poll once; return None if nothing has changed or the change may be incomplete."""
        async with self._lock:
            return await asyncio.to_thread(self._look)

    async def reload(self) -> Outcome:
        """Load the file now, changed or not."""
        async with self._lock:
            return await asyncio.to_thread(self._load)

    def _look(self) -> Outcome | None:
        before, now = self._last, self._observe()
        self._last = now
        digest = now.digest if now else ""
        if digest == self._known_digest or now != before:
            return None
        self._known_digest = digest
        return self._load()

    def _load(self) -> Outcome:
        # Follow the file that was read at startup. If it is gone, searching again could find a different
        # configuration, or none.
        path = self._current.path
        try:
            if path is None:
                loaded = load_config(self._explicit, self._env, self._cwd, self._home)
            else:
                # Some editors empty a file before they write it.
                empty = self._current.config == Config()
                loaded = load_file(path, self._env, self._cwd, self._home, may_be_empty=empty)
        except ConfigErrors as errors:
            return Rejected(errors)
        sections = changed_sections(self._current.config, loaded.config)
        self._current = loaded
        self._known_digest = loaded.fingerprint
        return Reloaded(loaded, sections)

    def _observe(self) -> _Look | None:
        """Take a snapshot; return None if the file is missing or unreadable."""
        last = self._last
        try:
            path = self._current.path or find_config(self._explicit, self._env, self._cwd, self._home)
            stamp = file_stamp(path)
            if path is None or stamp is None:
                return None
            is_repeated = last is not None and last.stamp == stamp
            if last is not None and is_repeated and last.is_repeated:
                return last
            return _Look(stamp, hashlib.sha256(path.read_bytes()).hexdigest(), is_repeated)
        except (OSError, ConfigErrors):
            return None


def changed_sections(before: Config, after: Config) -> frozenset[str]:
    """Return the sections that differ; accounts individually, as `channels.NAME`."""
    names = {
        name
        for name in type(after).model_fields
        if name != "channels" and getattr(before, name) != getattr(after, name)
    }
    accounts = before.channels.keys() | after.channels.keys()
    changed = {name for name in accounts if before.channels.get(name) != after.channels.get(name)}
    return frozenset(names | {f"channels.{name}" for name in changed})
