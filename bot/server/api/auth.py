"""Who calls, and what that role may do: each route says with `open_to` who may use it, else admins may."""

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
"""The page's platform, and its account."""
LOCAL = ("web", "terminal")
NOT_YOURS = "Your role may not do that."
NOT_KNOWN = "Sign in first."
_CALLER, _LEAST = "roebot.caller", "__roebot_least__"
HERE = Sender(OWNER)
"""Whoever has the service's token, or sits at its machine."""
Route = TypeVar("Route", bound=Callable[..., Any])


class AuthMethod(StrEnum):
    """How somebody came in."""

    TOKEN = "token"  # noqa: S105
    LOOPBACK = "loopback"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody at the port. `sender` is who writes when they do, `session` the hash of their session's key
    ("" where they came without a link).
    """

    role: Role
    how: AuthMethod
    sender: Sender = HERE
    session: str = ""

    @property
    def person(self) -> str:
        """Who that is as `platform:id`."""
        return person_of(WEB, self.sender)

    @property
    def account(self) -> str:
        """Where they are known from."""
        return self.sender.account or WEB

    def writing_on(self, platform: str) -> Sender:
        """Who writes when they do something there from the page."""
        here = self.sender.account or platform in LOCAL
        return self.sender if here else Sender(self.person, account=WEB)

    def has_permission(self, power: Permission) -> bool:
        """Whether they may do that."""
        return has_permission(self.role, power)

    @property
    def memory_scope(self) -> str:
        """Where the agent remembers them."""
        return f"person:{self.account}:{self.person}"

    @property
    def owner_ids(self) -> tuple[str, ...]:
        """As whom conversations are theirs."""
        if self.sender.account:
            return (self.person,)
        return tuple(person_of(platform, self.sender) for platform in LOCAL)

    def can_reach(self, account: str, platform: str) -> bool:
        """Whether something of theirs there is within their reach."""
        return platform == WEB or account == self.account or not self.sender.account

    def owns_conversation(self, of: ConversationView) -> bool:
        """Whether a conversation is their own."""
        return of.owner in self.owner_ids and self.can_reach(of.key.account, of.platform)

    def created_schedule(self, one: Schedule) -> bool:
        """Whether a schedule is their own."""
        return one.person == self.person and self.can_reach(one.account, one.platform)


def attach_principal(scope: Scope, caller: Principal | None) -> None:
    """Say who makes a request."""
    scope[_CALLER] = caller


def caller_or_none(request: Request) -> Principal | None:
    """Who makes a request, None for nobody who is known."""
    found: Principal | None = request.scope.get(_CALLER)
    return found


def caller_of(request: Request) -> Principal:
    """Who makes a request. Raises 401."""
    found = caller_or_none(request)
    if found is None:
        raise HTTPException(401, NOT_KNOWN)
    return found


By = Annotated[Principal, Depends(caller_of)]


def open_to(least: Role) -> Callable[[Route], Route]:
    """Let callers with this role use a route; BLOCKED: anybody, without signing in."""

    def marked(route: Route) -> Route:
        setattr(route, _LEAST, least)
        return route

    return marked


def least_of(endpoint: object) -> Role:
    """The least role that a route asks for."""
    found: Role = getattr(endpoint, _LEAST, Role.ADMIN)
    return found


def authorize(request: Request) -> None:
    """Refuse who may not use a route. Raises 401 and 403."""
    least = least_of(request.scope.get("endpoint"))
    if least > Role.BLOCKED and caller_of(request).role < least:
        raise HTTPException(403, NOT_YOURS)
