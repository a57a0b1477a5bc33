"""Pending sign-ins in a person's browser: the start link and the callback."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from agent.errors import McpUnavailable
from agent.mcp.sign_in_files import SignInFiles, erase_person

LINK_SECONDS = 600.0
MAX_PENDING = 200
CALLBACK_PATH = "/api/mcp/sign-in/callback"
START_PATH = "/api/mcp/sign-in/start"


@dataclass(slots=True, eq=False)
class PendingSignIn:
    """A sign-in of `person` to `server`; `ticket` is the secret of its link.

    `provider_url` is where the person's browser goes; `outcome` becomes the code and the state from the
    callback, or an error. `asked_by` and `account` say who asked, and on which account of the bot.
    """

    server: str
    person: str
    ticket: str
    started: float
    asked_by: str = ""
    account: str = ""
    provider_url: str = ""
    state: str = ""
    known: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with `provider_url`."""
    outcome: asyncio.Future[tuple[str, str]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class SignInFailed(Exception):
    """The person or the provider refused; the message says which."""


class SignIns:
    """The service's sign-ins. `address` is the one for browsers; without it nobody can sign in."""

    def __init__(
        self, home: Path, address: str | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._home, self._address, self._clock = home, address, clock
        self._pending: list[PendingSignIn] = []

    @property
    def callback_url(self) -> str:
        """Return the callback address for providers, or "" without an address."""
        return f"{self._address.rstrip('/')}{CALLBACK_PATH}" if self._address else ""

    def files_of(self, server: str, url: str) -> SignInFiles:
        return SignInFiles(self._home, server, url)

    async def erase_person(self, person: str) -> int:
        """Delete a person's tokens of all servers and return their number."""
        for one in [one for one in self._pending if one.person == person]:
            self.close(one, SignInFailed("the person was erased"))
        return await asyncio.to_thread(erase_person, self._home, person)

    def open(self, server: str, person: str, *, asked_by: str = "", account: str = "") -> PendingSignIn:
        """Start a sign-in, replacing the person's earlier one. Raises McpUnavailable without an address."""
        if not self._address:
            raise McpUnavailable(
                "needs a sign-in with a browser, and the service has no public_url.", server=server
            )
        for one in [one for one in self._pending if (one.server, one.person) == (server, person)]:
            self.close(one, SignInFailed("another sign-in was started"))
        while len(self._pending) >= MAX_PENDING:
            self.close(self._pending[0], SignInFailed("too many sign-ins are waiting"))
        ticket = secrets.token_urlsafe(24)
        pending = PendingSignIn(server, person, ticket, self._clock(), asked_by, account)
        pending.outcome.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._pending.append(pending)
        return pending

    def find(self, server: str, person: str) -> PendingSignIn | None:
        self._drop_old()
        found = (one for one in self._pending if (one.server, one.person) == (server, person))
        return next(found, None)

    def start_url(self, pending: PendingSignIn) -> str:
        return f"{(self._address or '').rstrip('/')}{START_PATH}?ticket={pending.ticket}"

    def set_provider_url(self, pending: PendingSignIn, url: str) -> None:
        """Record the provider's URL for the browser; its state identifies the callback."""
        pending.provider_url = url
        pending.state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        pending.known.set()

    def find_ticket(self, ticket: str) -> PendingSignIn | None:
        self._drop_old()
        encoded = ticket.encode()
        return next(
            (one for one in self._pending if secrets.compare_digest(one.ticket.encode(), encoded)), None
        )

    def complete(self, state: str, code: str, error: str) -> PendingSignIn | None:
        """Pass a callback to its sign-in and return it; None for an unknown state. Works once."""
        self._drop_old()
        encoded = state.encode()
        waiting = [one for one in self._pending if one.state]
        pending = next((one for one in waiting if secrets.compare_digest(one.state.encode(), encoded)), None)
        if pending is None:
            return None
        self._pending.remove(pending)
        if code and not error:
            pending.outcome.set_result((code, state))
        else:
            pending.outcome.set_exception(SignInFailed(error or "the provider sent no code"))
        return pending

    def close(self, pending: PendingSignIn, error: Exception) -> None:
        if pending in self._pending:
            self._pending.remove(pending)
        if not pending.outcome.done():
            pending.outcome.set_exception(error)

    def _drop_old(self) -> None:
        now = self._clock()
        for one in [one for one in self._pending if now - one.started >= LINK_SECONDS]:
            self.close(one, SignInFailed("the link has expired"))
