"""Discord's rate limits as its headers tell them, so that a call that would be refused is not made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

MOST = 1024
"""Number of remembered buckets; beyond it, expired ones are dropped."""
GLOBAL_PAUSE = 1.0


@dataclass(slots=True)
class _Bucket:
    remaining: int
    resets_at: float


class Buckets:
    """Tracks the remaining calls of each bucket
    (docs.discord.com/developers/topics/rate-limits#header-format).

    A bucket is named by the header X-RateLimit-Bucket, and by the channel, server or webhook of the call.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._names: dict[str, str] = {}
        self._buckets: dict[str, _Bucket] = {}
        self._everywhere = 0.0

    def wait(self, route: str, major: str) -> tuple[float, bool]:
        """Seconds until this call may be made, and whether that holds for all calls. 0.0 counts the call."""
        now = self._now()
        if self._everywhere > now:
            return self._everywhere - now, True
        bucket = self._buckets.get(self._key(route, major))
        if bucket is None or bucket.resets_at <= now:
            return 0.0, False
        if bucket.remaining <= 0:
            return bucket.resets_at - now, False
        bucket.remaining -= 1
        return 0.0, False

    def learn(self, route: str, major: str, headers: Mapping[str, str]) -> None:
        """Read the limits in an answer's headers."""
        name = headers.get("X-RateLimit-Bucket")
        remaining, reset = headers.get("X-RateLimit-Remaining"), headers.get("X-RateLimit-Reset-After")
        if name is None or remaining is None or reset is None:
            return
        try:
            left, resets_at = int(remaining), self._now() + float(reset)
        except ValueError:
            return
        self._names[route] = name
        key = self._key(route, major)
        known = self._buckets.get(key)
        if known is not None and known.resets_at > self._now():
            left = min(left, known.remaining)
        self._buckets[key] = _Bucket(left, resets_at)
        if len(self._buckets) > MOST:
            self._sweep()

    def refused(self, route: str, major: str, seconds: float, *, everywhere: bool) -> None:
        """Record the pause that a 429 asked for."""
        until = self._now() + seconds
        if everywhere:
            self._everywhere = max(self._everywhere, until)
        else:
            self._buckets[self._key(route, major)] = _Bucket(0, until)

    def _key(self, route: str, major: str) -> str:
        return f"{self._names.get(route, route)}:{major}"

    def _sweep(self) -> None:
        now = self._now()
        for key in [key for key, bucket in self._buckets.items() if bucket.resets_at <= now]:
            del self._buckets[key]
