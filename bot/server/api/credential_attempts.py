"""Limits, counters and audit events for invalid credentials, per client address and kind of credential."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import Annotated, Final, TypeVar

import structlog
from fastapi import Depends, HTTPException, Request
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily
from starlette.types import Scope

from agent.shared.client_address import client_of
from agent.shared.failure_limit import Failure, FailureLimiter
from bot.clock import Clock
from bot.errors import StoreError
from bot.server.api.dependencies import ApiServices
from bot.store.audit import Actor, AuditEvent, record_event

log = structlog.get_logger(__name__)
T = TypeVar("T")

WRONG_CREDENTIAL: Final = "wrong credential"
GUESSING_STOPPED: Final = "guessing stopped"
AUDITED_PER_HOUR: Final = 100
"""Audit events about wrong credentials in an hour; further ones are only counted."""
HOUR: Final = 3600.0
MINUTE: Final = 60.0
TOO_MANY: Final = "Too many wrong credentials from your address. Try again in {seconds} seconds."

RecordEvent = Callable[[AuditEvent], Awaitable[None]]
"""Writes an audit event. Raises StoreError."""


class CredentialKind(StrEnum):
    """A kind of credential, with its own limits."""

    TOKEN = "token"  # noqa: S105 - a name
    LINK = "link"
    PAIRING_CODE = "pairing code"
    WEBHOOK = "webhook"


ATTEMPTS: Final = {
    CredentialKind.TOKEN: (10, MINUTE),
    CredentialKind.LINK: (10, MINUTE),
    CredentialKind.PAIRING_CODE: (5, HOUR),
    CredentialKind.WEBHOOK: (20, MINUTE),
}
"""Wrong attempts within a period (s), after which an address has to wait as long."""


class TooManyAttempts(HTTPException):
    """The client must wait after too many guesses (429)."""

    def __init__(self, seconds: int) -> None:
        super().__init__(429, TOO_MANY.format(seconds=seconds), {"retry-after": str(seconds)})
        self.seconds = seconds


class CredentialAttempts:
    """Invalid credentials sent to this service.

    An address that guessed has to wait even with the right credential. Requests from this machine may still
    use one that nobody can guess, because other users of the machine have the same address.
    """

    def __init__(self, clock: Clock, record: RecordEvent) -> None:
        self._clock = clock
        self._record = record
        self._limiters = {
            kind: FailureLimiter(clock.now, attempts=attempts, seconds=seconds)
            for kind, (attempts, seconds) in ATTEMPTS.items()
        }
        self._hour = 0.0
        self._audited = 0

    async def check(
        self,
        scope: Scope,
        kind: CredentialKind,
        find: Callable[[], Awaitable[T | None]],
        *,
        detail: str = "",
        guessable: bool = False,
    ) -> T | None:
        """Return the result of `find` for a credential, or None if it is invalid.

        `detail` tells credentials of a kind apart that are limited on their own, such as the webhooks of two
        accounts. Raises TooManyAttempts, in most cases without a call of `find`.
        """
        client = client_of(scope)
        limiter = self._limiters[kind]
        wait = limiter.retry_after(client.host, detail)
        if wait and (guessable or not client.is_local):
            raise TooManyAttempts(wait)
        found = await find()
        if found is not None:
            return found
        if wait:
            raise TooManyAttempts(wait)
        await self._count_failure(kind, client.host, detail)
        return None

    async def check_signature(
        self, scope: Scope, find: Callable[[], Awaitable[T | None]], *, detail: str
    ) -> T | None:
        """Return the result of `find`, which checks a webhook's signature; None counts as a failure.

        Signatures can't be guessed, so they are checked no matter what the address sent before.
        """
        found = await find()
        if found is None:
            await self._count_failure(CredentialKind.WEBHOOK, client_of(scope).host, detail)
        return found

    async def _count_failure(self, kind: CredentialKind, host: str, detail: str) -> None:
        failure = self._limiters[kind].record_failure(host, detail)
        if failure.is_first or failure.locks:
            await self._report(kind, failure)

    def collect_metrics(self) -> Iterable[Metric]:
        """Yield the numbers of invalid credentials, and of attempts while an address had to wait."""
        wrong = CounterMetricFamily(
            "roebot_credential_failures", "Wrong credentials since startup", labels=["credential"]
        )
        refused = CounterMetricFamily(
            "roebot_credential_refusals",
            "Attempts since startup by addresses that had to wait",
            labels=["credential"],
        )
        for kind, limiter in self._limiters.items():
            wrong.add_metric([kind.value], limiter.failures)
            refused.add_metric([kind.value], limiter.refusals)
        yield wrong
        yield refused

    async def _report(self, kind: CredentialKind, failure: Failure) -> None:
        """Log and audit a failure: the first one in a window, and the one that reaches the limit."""
        subject = f"{kind.value} {failure.detail}".strip()
        log.warning("credential_wrong", credential=subject, address=failure.address, limited=failure.locks)
        now = self._clock.now()
        if now - self._hour >= HOUR:
            self._hour, self._audited = now, 0
        self._audited += 1
        # A wrong pairing code is audited with the person who entered it.
        is_known = kind is CredentialKind.PAIRING_CODE and not failure.locks
        if is_known or self._audited > AUDITED_PER_HOUR:
            return
        action = GUESSING_STOPPED if failure.locks else WRONG_CREDENTIAL
        try:
            await self._record(AuditEvent(action, subject, f"address {failure.address}"))
        except StoreError as error:
            log.error("audit_failed", action=action, problem=str(error))


def make_attempts(services: ApiServices) -> CredentialAttempts:
    """Create a service's limits, which write to its audit log."""

    async def record(event: AuditEvent) -> None:
        actor = Actor(f"credential:{services.core.new_id()}", "", "", "", "")
        await services.db.transact(record_event, actor, event, services.clock.now())

    return CredentialAttempts(services.clock, record)


async def attempts_of(request: Request) -> CredentialAttempts:
    """Return the limits of a request's application."""
    found: CredentialAttempts = request.app.state.attempts
    return found


Attempts = Annotated[CredentialAttempts, Depends(attempts_of)]
