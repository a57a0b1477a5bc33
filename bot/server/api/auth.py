"""Authentication and permissions of callers, and audit events for reading other people's data.

A route names its permission with `requires`, or is open to everyone with access or to anyone (`open_to`); by
default it is for admins of all accounts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from fastapi import Depends, HTTPException, Request
from starlette.types import Scope

from bot.access import Caller, Permission, Role, Target
from bot.access.permissions import RULES, home_origin, owner_scope
from bot.config import AccessEntry
from bot.domain import OWNER, Sender, person_of
from bot.server.api.dependencies import ApiServices
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Accounts
from bot.store.conversations import ConversationView

WEB = "web"
"""Platform and account name of the web console."""
LOCAL = ("web", "terminal")
NOT_YOURS = "Your role does not allow this."
FOR_ALL_ACCOUNTS = "Only admins of all accounts can do this, because it affects everyone."
FOR_OWNERS = "Only owners can do this."
NOT_KNOWN = "Sign in first."
READ_ONLY = "This API token may only read. Create one with the scope turns or admin."
SAFE_METHODS = ("GET", "HEAD")
_CALLER, _LEAST, _PERMISSION = "roebot.caller", "__roebot_least__", "__roebot_permission__"
HERE = Sender(OWNER)
"""Sender that represents callers with the service token."""
Route = TypeVar("Route", bound=Callable[..., Any])


class AuthMethod(StrEnum):
    """Method by which a caller signed in."""

    TOKEN = "token"  # noqa: S105
    LINK = "link"
    OIDC = "oidc"
    API_TOKEN = "api_token"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller.

    `sender` is the author recorded for the caller's actions; `session` is the hash of the session key ("" if
    the caller sent the token). `generation` is that of the token under which the owner signed in; `locale`
    lists the languages of the request; `only` the permissions to which an API token is limited, for reading
    alone (None: no limit).
    """

    role: Role
    how: AuthMethod
    sender: Sender = HERE
    session: str = ""
    generation: int = 0
    locale: str = field(default="", compare=False)
    only: frozenset[Permission] | None = None

    @property
    def is_local_owner(self) -> bool:
        """Return whether the caller is the service owner, rather than a person with the owner role."""
        return self.sender == HERE

    @property
    def person(self) -> str:
        """Return the caller as `platform:id`."""
        return person_of(WEB, self.sender)

    @property
    def account(self) -> str:
        """Return the account from which the caller signed in."""
        return self.sender.account or WEB

    def sender_on(self, platform: str) -> Sender:
        """Return the author to record for the caller's console actions on that platform."""
        known_here = self.sender.account or platform in LOCAL
        return self.sender if known_here else Sender(self.person, account=WEB)

    @property
    def caller(self) -> Caller:
        """Return the caller in the permission policy's format."""
        return Caller(self.role, home_origin(WEB, WEB, self.sender), self.only)

    @property
    def memory_scope(self) -> str:
        """Return the scope of the agent's memory about the caller."""
        return f"person:{self.account}:{self.person}"

    @property
    def owner_ids(self) -> tuple[str, ...]:
        """Return the owner ids whose conversations belong to the caller."""
        if self.sender.account:
            return (self.person,)
        return tuple(person_of(platform, self.sender) for platform in LOCAL)

    def can_reach(self, account: str, platform: str) -> bool:
        """Return whether the caller can use their own data on that account here."""
        return platform == WEB or account == self.account or not self.sender.account

    def owns_conversation(self, of: ConversationView) -> bool:
        """Return whether the caller owns a conversation."""
        return of.owner in self.owner_ids and self.can_reach(of.key.account, of.platform)

    def created(self, person: str, account: str, platform: str) -> bool:
        """Return whether the caller is `person` on an account, and thus the creator of something there."""
        return person == self.person and self.can_reach(account, platform)


def attach_principal(scope: Scope, caller: Principal | None) -> None:
    """Attach the caller to a request."""
    scope[_CALLER] = caller


def find_caller(request: Request) -> Principal | None:
    """Return a request's caller, or None if it is not authenticated."""
    found: Principal | None = request.scope.get(_CALLER)
    return found


async def require_caller(request: Request) -> Principal:
    """Return the caller of a request. Raises 401."""
    found = find_caller(request)
    if found is None:
        raise HTTPException(401, NOT_KNOWN)
    return replace(found, locale=request.headers.get("accept-language", ""))


By = Annotated[Principal, Depends(require_caller)]


def open_to(least: Role) -> Callable[[Route], Route]:
    """Set a route's minimum role. BLOCKED admits callers who are not signed in."""

    def marked(route: Route) -> Route:
        setattr(route, _LEAST, least)
        return route

    return marked


def requires(permission: Permission) -> Callable[[Route], Route]:
    """Set the permission that a route requires: on the caller's own account, or on all accounts if it affects
    everyone. The route itself checks access to the people in its parameters.
    """

    def marked(route: Route) -> Route:
        setattr(route, _PERMISSION, permission)
        return route

    return marked


def is_open(endpoint: object) -> bool:
    """Return whether a route admits callers who are not signed in."""
    return getattr(endpoint, _LEAST, None) is Role.BLOCKED


def required_permission(endpoint: object) -> Permission:
    """Return the permission that a route requires of callers who are signed in."""
    default = Permission.USE if getattr(endpoint, _LEAST, None) is not None else Permission.CONFIGURE
    found: Permission = getattr(endpoint, _PERMISSION, default)
    return found


def least_role(endpoint: object) -> Role:
    """Return the minimum role that a route requires."""
    return Role.BLOCKED if is_open(endpoint) else RULES[required_permission(endpoint)].least


def may(services: ApiServices, by: Principal, permission: Permission, target: Target | None = None) -> bool:
    """Return whether the caller has a permission for a target, by default on their own account."""
    on = target or Target(by.caller.home.account)
    return services.core.permissions.decide(by.caller, permission, on)


def check(services: ApiServices, by: Principal, permission: Permission, target: Target | None = None) -> None:
    """Check the caller's permission for a target. Raises 403."""
    if may(services, by, permission, target):
        return
    rule = RULES[permission]
    if rule.least is Role.OWNER:
        raise HTTPException(403, FOR_OWNERS)
    raise HTTPException(403, FOR_ALL_ACCOUNTS if rule.everywhere and by.role >= rule.least else NOT_YOURS)


def conversation_target(by: Principal, of: ConversationView) -> Target:
    """Return a conversation in the permission policy's format."""
    scope = owner_scope(of.key.account, of.platform, of.owner)
    return Target(scope, own=by.owns_conversation(of))


def accounts_with(services: ApiServices, by: Principal, permission: Permission) -> frozenset[str] | None:
    """Return the accounts on which the caller has a permission; None for all."""
    return services.core.permissions.accounts_with(by.caller, permission)


async def authorize(request: Request) -> None:
    """Check that the caller may use the route. Raises 401 and 403."""
    endpoint = request.scope.get("endpoint")
    if not is_open(endpoint):
        by = await require_caller(request)
        if by.only is not None and request.method not in SAFE_METHODS:
            raise HTTPException(403, READ_ONLY)
        own = Target(by.caller.home.account, own=True)
        check(request.app.state.services, by, required_permission(endpoint), own)


def audit_actor(services: ApiServices, by: Principal, key: str = "") -> Actor:
    """Return the caller as an actor; events with the same key are recorded once."""
    return Actor(key or f"api:{services.core.new_id()}", by.person, by.sender.name, by.account, "")


def check_scope(services: ApiServices, by: Principal, who: AccessEntry) -> None:
    """Check that the caller may grant roles on the accounts covered by an entry. Raises 403."""
    if not may(services, by, Permission.GRANT, Target(who.scope)):
        reason = f"you are not an admin of every account that {who} covers; name a person on your account"
        raise HTTPException(403, f"{reason} ({by.account}:ID), or ask an owner")


READ = "read"
HOUR = 3600.0


async def record_conversation_read(services: ApiServices, by: Principal, of: ConversationView) -> None:
    """Record that the caller read someone else's conversation."""
    if not by.owns_conversation(of):
        whose = f"{of.key.account} {of.key.chat}" + (f" of {of.owner}" if of.owner else "")
        await record_read(services, by, f"conversation {of.id}", whose)


async def record_turns_read(services: ApiServices, by: Principal, accounts: Accounts) -> None:
    """Record that the caller read the latest turns of all conversations, on these accounts."""
    await record_read(services, by, "turns of all conversations", " ".join(sorted(accounts or ())))


async def record_read(services: ApiServices, by: Principal, subject: str, detail: str) -> None:
    """Record that the caller read someone else's data."""
    now = services.clock.now()
    reader = audit_actor(services, by, f"{READ}:{by.person}:{subject}:{now // HOUR:.0f}")
    await services.db.transact(record_event, reader, AuditEvent(READ, subject, detail), now)
