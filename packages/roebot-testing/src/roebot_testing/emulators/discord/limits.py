"""Rate limits as Discord counts them: buckets with headers, a global limit, penalties on one channel."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from roebot_testing.emulators.discord.errors import TooMany
from roebot_testing.emulators.http import Headers

PER_CHANNEL = (5, 5.0)
"""Calls of one route in one channel; Discord publishes them only in headers (discord-api-docs#20)."""
PER_REACTION = (1, 0.25)
"""Reactions in one channel (discord-api-docs#864)."""
GLOBAL = (50, 1.0)
"""Calls of one bot a second (docs.discord.com/developers/topics/rate-limits#global-rate-limit)."""
INTERACTION_CALLS = frozenset({"callback", "followup", "editAnswer", "getAnswer", "deleteAnswer"})
"""Calls that the global limit does not cover (same section)."""


@dataclass(slots=True)
class _Window:
    resets_at: float = 0.0
    used: int = 0


@dataclass(slots=True)
class DiscordLimits:
    """Fixed windows that start with their first call; `scale` shortens them, `enabled` False disables
    them.
    """

    scale: float = 1.0
    enabled: bool = True
    counts: dict[str, tuple[int, float]] = field(
        default_factory=lambda: dict.fromkeys(("addReaction", "removeReaction"), PER_REACTION)
    )
    _windows: dict[tuple[str, str], _Window] = field(default_factory=dict)
    _penalties: dict[str, float] = field(default_factory=dict)
    _global: _Window = field(default_factory=_Window)

    def take(self, bucket: str, key: str, now: float) -> Headers:
        """Count a call and return its headers. Raises TooMany; a refused call is not counted.

        With an empty `key` the call counts for the global limit only.
        """
        penalty = self._penalties.get(key, 0.0)
        if penalty > now:
            raise TooMany(penalty - now, everywhere=False)
        if not self.enabled:
            return ()
        count, period = self.counts.get(bucket, PER_CHANNEL) if key else GLOBAL
        window = self._windows.setdefault((bucket, key), _Window())
        counts_globally = bucket not in INTERACTION_CALLS
        if counts_globally:
            self._refuse(self._global, GLOBAL[0], now, everywhere=True)
        self._refuse(window, count, now, everywhere=False)
        if counts_globally:
            self._use(self._global, GLOBAL[1], now)
        self._use(window, period, now)
        return _headers(bucket, count, window, now)

    def penalize(self, key: str, until: float) -> None:
        """Refuse every call about `key` until that time, limits enabled or not."""
        self._penalties[key] = until

    def refused(self, bucket: str, error: TooMany) -> Headers:
        """Return the headers of a 429; without `Via`, clients interpret it as a ban by Cloudflare."""
        everywhere = bool(error.more["global"])
        scope = b"global" if everywhere else b"user"
        found = [
            (b"via", b"1.1 google"),
            (b"retry-after", b"%d" % math.ceil(error.wait)),
            (b"x-ratelimit-scope", scope),
        ]
        if everywhere:
            found.append((b"x-ratelimit-global", b"true"))
        else:
            count, _ = self.counts.get(bucket, PER_CHANNEL)
            found += [
                (b"x-ratelimit-limit", b"%d" % count),
                (b"x-ratelimit-remaining", b"0"),
                (b"x-ratelimit-reset-after", b"%.3f" % error.wait),
                (b"x-ratelimit-bucket", _hash(bucket)),
            ]
        return tuple(found)

    def reset(self) -> None:
        """Clear all calls and penalties."""
        self._windows.clear()
        self._penalties.clear()
        self._global = _Window()

    def _refuse(self, window: _Window, count: int, now: float, *, everywhere: bool) -> None:
        if now < window.resets_at and window.used >= count:
            raise TooMany(window.resets_at - now, everywhere=everywhere)

    def _use(self, window: _Window, period: float, now: float) -> None:
        if now >= window.resets_at:
            window.resets_at, window.used = now + period * self.scale, 0
        window.used += 1


def _hash(bucket: str) -> bytes:
    return b"%08x" % (sum(ord(sign) * 31**index for index, sign in enumerate(bucket)) % 2**32)


def _headers(bucket: str, count: int, window: _Window, now: float) -> Headers:
    return (
        (b"x-ratelimit-limit", b"%d" % count),
        (b"x-ratelimit-remaining", b"%d" % max(0, count - window.used)),
        (b"x-ratelimit-reset", b"%.3f" % window.resets_at),
        (b"x-ratelimit-reset-after", b"%.3f" % (window.resets_at - now)),
        (b"x-ratelimit-bucket", _hash(bucket)),
    )
