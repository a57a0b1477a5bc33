"""`auth` in `langgraph.json`: handlers that identify users and decide what each may do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar
from uuid import UUID

import structlog
from langgraph_sdk import Auth
from starlette.authentication import AuthCredentials
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from agent.errors import GraphLoadError, Refused
from agent.runtime.access import ACCESS_KEY, FULL_ACCESS, Authorizer, Filter, User, allows
from agent.runtime.domain import Json, is_uuid
from agent.runtime.failures import log_failure
from agent.shared.client_address import client_of
from agent.shared.failure_limit import FailureLimiter
from agent.shared.http_guard import GuardCheck, RequestHeaders, RequestRefusal, accepts_token, sent_tokens
from agent.shared.live_token import LiveToken

log = structlog.get_logger("agent.runtime")
P = ParamSpec("P")
T = TypeVar("T")
PARAMETERS: Final = frozenset(
    {"authorization", "headers", "method", "path", "path_params", "query_params", "request", "scope"}
)
"""Parameters of `@auth.authenticate`."""
ACTIONS: Final = {
    **dict.fromkeys(("assistants", "crons"), ("create", "read", "update", "delete", "search")),
    "threads": ("create", "read", "update", "delete", "search", "create_run"),
    "store": ("put", "get", "search", "delete", "list_namespaces"),
}


def _refusing(decide: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Convert exceptions of handlers to `Refused`; unexpected ones to status 500 without details."""

    @wraps(decide)
    async def refuse_on_error(*args: P.args, **options: P.kwargs) -> T:
        try:
            return await decide(*args, **options)
        except Refused:
            raise
        except (Auth.exceptions.HTTPException, HTTPException) as error:
            raise Refused(str(error.detail), error.status_code, error.headers) from error
        except Exception as error:  # noqa: BLE001 - a handler may raise anything; access is then refused
            await log_failure("auth_handler_failed", error)
            raise Refused("Internal error; see the log for details", 500) from None

    return refuse_on_error


class ProjectAuth:
    """The handlers of a project's `Auth` object."""

    def __init__(self, auth: object) -> None:
        """Raises `GraphLoadError` for an object without a supported `@auth.authenticate` handler."""
        handler = auth._authenticate_handler if isinstance(auth, Auth) else None
        if not isinstance(auth, Auth) or handler is None:
            raise GraphLoadError("auth.path: not an Auth object with an @auth.authenticate handler")
        self._auth, self._authenticate = auth, handler
        parameters = inspect.signature(handler).parameters
        self._names = PARAMETERS & parameters.keys()
        required = [name for name, one in parameters.items() if one.default is one.empty]
        if unknown := set(required) - PARAMETERS:
            raise GraphLoadError(
                f"auth.path: @auth.authenticate has the unknown parameter {min(unknown)!r}; "
                f"known: {', '.join(sorted(PARAMETERS))}"
            )
        pairs = [(resource, action) for resource, actions in ACTIONS.items() for action in actions]
        if missing := [".".join(pair) for pair in pairs if self.find_handler(*pair) is None]:
            log.warning("auth_actions_open_to_all_users", actions=missing)

    def find_handler(self, resource: str, action: str) -> Callable[..., Any] | None:
        """Return the most specific handler of an action, or None."""
        keys = ((resource, action), (resource, "*"), ("*", action), ("*", "*"))
        found = [self._auth._handlers[key] for key in keys if key in self._auth._handlers]
        return next((handlers[-1] for handlers in [*found, self._auth._global_handlers] if handlers), None)

    def access_of(self, fields: Json) -> Authorizer:
        """Return the authorizer of a user with these fields."""
        return UserAuthorizer(self, User(fields))

    @_refusing
    async def authenticate(self, scope: Scope) -> User:
        """Return the user who sent a request. Raises `Refused`."""
        request = Request(scope)
        values = {
            "request": request,
            "path": scope["path"],
            "headers": dict(request.headers.raw),
            "authorization": request.headers.get("authorization"),
        }
        names = {name: values[name] if name in values else getattr(request, name) for name in self._names}
        found = await _call(self._authenticate, names)
        if isinstance(found, tuple):
            permissions, found = found
            found = {**User(found), "permissions": permissions}
        return User(found)

    def require_caller(
        self, token: LiveToken, failures: FailureLimiter, open_routes: Sequence[BaseRoute]
    ) -> GuardCheck:
        """Create a check that stores the caller's `Authorizer` in the scope: full access with the token,
        otherwise that of a user.

        `/ok` and `open_routes` require no credentials. After too many failures, an address can't use the
        token for a while (see `accepts_token`), but its users are still identified.
        """

        async def check_caller(scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
            if scope["path"] == "/ok" or any(one.matches(scope)[0] is Match.FULL for one in open_routes):
                return None
            # Proxies and SDKs may send the token as a key in addition to a user's credentials.
            sent = sent_tokens({**headers, "x-api-key": ""} if headers.get("authorization") else headers)
            if accepts_token(token, failures, scope, sent):
                scope[ACCESS_KEY] = FULL_ACCESS
                return None
            try:
                user = await self.authenticate(scope)
            except Refused as error:
                if sent and error.status < 500:
                    failures.record_failure(client_of(scope).host)
                return RequestRefusal(error.status, str(error), headers=error.headers)
            credentials = AuthCredentials(user.permissions)
            scope.update({ACCESS_KEY: UserAuthorizer(self, user), "user": user, "auth": credentials})
            return None

        return check_caller


class UserAuthorizer(Authorizer):
    """Asks the project's handlers what a user may do."""

    def __init__(self, auth: ProjectAuth, user: User) -> None:
        self._auth = auth
        self.user: User = user

    @_refusing
    async def authorize(self, resource: str, action: str, value: Json) -> Filter | None:
        """Ask the handler of the action. Without one, everything is allowed. Raises `Refused`."""
        if (handler := self._auth.find_handler(resource, action)) is None:
            return None
        ids = {name: item for name, item in value.items() if name.endswith("_id") and is_uuid(str(item))}
        value.update({name: UUID(str(item)) for name, item in ids.items()})
        names: Any = {"resource": resource, "action": action, "user": self.user}
        context = Auth.types.AuthContext(permissions=self.user.permissions, **names)
        try:
            result = await _call(handler, {"ctx": context, "value": value})
        except AssertionError as error:
            raise Refused(str(error) or "Forbidden", 403) from error
        if result is False:
            raise Refused("Forbidden", 403)
        if result is None or result is True:
            return None
        if not isinstance(result, Mapping):
            raise TypeError(f"@auth.on: the handler of {resource}.{action} returned {result!r}")
        allows(result, {})  # raises for an invalid filter
        return result


async def _call(handler: Callable[..., Any], arguments: Json) -> Any:
    if inspect.iscoroutinefunction(handler):
        return await handler(**arguments)
    found = await run_in_threadpool(handler, **arguments)
    return await found if inspect.isawaitable(found) else found
