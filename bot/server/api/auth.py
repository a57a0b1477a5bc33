"""Authenticate callers and check their role: a route sets its least role with `open_to`, the default is
admin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from fastapi import Depends, HTTPException, Request
from starlette.types import Scope

from bot.access import Permission, Role, has_permission
from bot.domain import Sender, person_of
from bot.platforms.local.adapter import OWNER
from bot.store.conversations import ConversationView
from bot.store.schedules import Schedule

WEB = "web"
"""Platform and account name of the web console."""
LOCAL = ("web", "terminal")
NOT_YOURS = "Your role does not allow this."
NOT_KNOWN = "Sign in first."
_CALLER, _LEAST = "roebot.caller", "__roebot_least__"
HERE = Sender(OWNER)
"""Sender of callers with the service token and of callers on loopback."""
Route = TypeVar("Route", bound=Callable[..., Any])


class AuthMethod(StrEnum):
    """Method by which a caller signed in."""

    TOKEN = "token"  # noqa: S105
    LOOPBACK = "loopback"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller.

    `sender` is the author of what the caller does; `session` is the hash of the session key, "" for a caller
    without a sign-in link.
    """

    role: Role
    how: AuthMethod
    sender: Sender = HERE
    session: str = ""

    @property
    def person(self) -> str:
        """Return the caller as `platform:id`."""
        return person_of(WEB, self.sender)

    @property
    def account(self) -> str:
        """Return the account that the caller signed in from."""
        return self.sender.account or WEB

    def sender_on(self, platform: str) -> Sender:
        """Return the author of what the caller does on that platform from the web console."""
        known_here = self.sender.account or platform in LOCAL
        return self.sender if known_here else Sender(self.person, account=WEB)

    def has_permission(self, power: Permission) -> bool:
        """Return whether the caller's role has a permission."""
        return has_permission(self.role, power)

    @property
    def memory_scope(self) -> str:
        """Return the scope of the agent's memory of the caller."""
        return f"person:{self.account}:{self.person}"

    @property
    def owner_ids(self) -> tuple[str, ...]:
        """Return the owner ids whose conversations belong to the caller."""
        if self.sender.account:
            return (self.person,)
        return tuple(person_of(platform, self.sender) for platform in LOCAL)

    def can_reach(self, account: str, platform: str) -> bool:
        """Return whether the caller can use their own data of that account here."""
        return platform == WEB or account == self.account or not self.sender.account

    def owns_conversation(self, of: ConversationView) -> bool:
        """Return whether the caller owns a conversation."""
        return of.owner in self.owner_ids and self.can_reach(of.key.account, of.platform)

    def created_schedule(self, one: Schedule) -> bool:
        """Return whether the caller created a schedule."""
        return one.person == self.person and self.can_reach(one.account, one.platform)


def attach_principal(scope: Scope, caller: Principal | None) -> None:
    """Attach the caller to a request."""
    scope[_CALLER] = caller


def find_caller(request: Request) -> Principal | None:
    """Return the caller of a request, None if unauthenticated."""
    found: Principal | None = request.scope.get(_CALLER)
    return found


def require_caller(request: Request) -> Principal:
    """Return the caller of a request. Raises 401."""
    found = find_caller(request)
    if found is None:
        raise HTTPException(401, NOT_KNOWN)
    return found


By = Annotated[Principal, Depends(require_caller)]


def open_to(least: Role) -> Callable[[Route], Route]:
    """Set the least role of a route; BLOCKED admits callers that are not signed in."""

    def marked(route: Route) -> Route:
        setattr(route, _LEAST, least)
        return route

    return marked


def least_role(endpoint: object) -> Role:
    """Return the least role that a route requires."""
    found: Role = getattr(endpoint, _LEAST, Role.ADMIN)
    return found


def authorize(request: Request) -> None:
    """Check that the caller may use the route. Raises 401 and 403."""
    least = least_role(request.scope.get("endpoint"))
    if least > Role.BLOCKED and require_caller(request).role < least:
        raise HTTPException(403, NOT_YOURS)
