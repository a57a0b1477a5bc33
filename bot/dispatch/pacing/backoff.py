"""Waiting between tries, for what may come back."""

from __future__ import annotations

from bot.clock import Clock
from bot.errors import DeliveryError, RateLimited, RuntimeUnreachable

# Seconds between tries, and for how long altogether the runtime, or a platform with a file, is waited for.
DELAYS = (0.05, 0.1, 0.2, 0.5, 1.0)
RUNTIME_PATIENCE = 120.0
FETCH_PATIENCE = 20.0


class Backoff:
    """Backs off between tries and gives up after `patience` seconds without one that went well."""

    def __init__(self, clock: Clock, patience: float = RUNTIME_PATIENCE) -> None:
        self._clock = clock
        self._patience = patience
        self._count = 0
        self._since: float | None = None

    def reset(self) -> None:
        """One went well."""
        self._count, self._since = 0, None

    async def pause(self, problem: RuntimeUnreachable | DeliveryError) -> None:
        """Wait before the next try, as long as a platform asks for; raises `problem` where it is enough."""
        now = self._clock.now()
        self._since = now if self._since is None else self._since
        delay = DELAYS[min(self._count, len(DELAYS) - 1)]
        if isinstance(problem, RateLimited):
            delay = max(delay, problem.retry_after)
        if now + delay - self._since > self._patience:
            raise problem
        self._count += 1
        await self._clock.sleep(delay)
