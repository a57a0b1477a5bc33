"""Access of callers: their identity, what they may do, and the rows that a filter allows."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

from agent.runtime.domain import USER_KEYS, Json
from agent.runtime.encode import dumps, loads
from agent.runtime.store.item_filter import is_equal

ACCESS_KEY: Final = "roebot.access"
"""Key of the caller's `Authorizer` in the scope of a request."""
_BASE: Final = ("identity", "display_name", "is_authenticated", "permissions")

Filter = Mapping[str, Any]
"""Conditions for the metadata of a row: values of fields, `$eq`, `$contains`, `$or` and `$and`."""


class User(dict[str, Any]):
    """The user of a request: the fields that `@auth.authenticate` returned, as JSON and as attributes."""

    identity: str
    permissions: list[str]

    def __init__(self, found: Any) -> None:
        """Create a user from an identity, a mapping or an object. Raises `ValueError` without an identity."""
        if isinstance(found, str):
            fields: Json = {"identity": found}
        elif isinstance(found, Mapping):
            fields = dict(found)
        else:
            read: Any = getattr(found, "model_dump", None) or getattr(found, "dict", dict)
            fields = {name: getattr(found, name) for name in _BASE if hasattr(found, name)} | read()
        identity, permissions = fields.get("identity"), list(fields.get("permissions") or ())
        if not isinstance(identity, str) or not identity:
            raise ValueError("@auth.authenticate must return a user with an identity")
        common = {"display_name": identity, "is_authenticated": True}
        super().__init__(loads(dumps({**common, **fields, "permissions": permissions})))
        vars(self).update({name: value for name, value in self.items() if not hasattr(dict, name)})

    @property
    def configurable(self) -> Json:
        """Entries of a run's `configurable` that describe the user."""
        return dict(zip(USER_KEYS, (self, self.identity, self.permissions), strict=True))


REQUEST_USER: ContextVar[User | None] = ContextVar("request_user", default=None)
"""User of the current request, for graph factories; the user of a run is in its `configurable`."""


class Authorizer:
    """Decides what a caller may do. This class allows everything: with the token, or without `auth`."""

    user: User | None = None

    async def authorize(self, _resource: str, _action: str, _value: Json) -> Filter | None:
        """Return a filter for the rows that the caller may access; None: all. Raises `Refused`.

        `value` describes the request and may be changed: the caller continues with the changed value.
        """
        return None


FULL_ACCESS: Final = Authorizer()


def allows(wanted: Filter | None, metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata matches a filter. A missing field matches nothing, not even null.

    Raises `ValueError` for an invalid filter, whatever the metadata.
    """
    # A list, because a generator would stop before reaching an invalid part.
    return all([_matches(name, condition, metadata) for name, condition in (wanted or {}).items()])


def _matches(name: str, condition: Any, metadata: Mapping[str, Any]) -> bool:
    if name in ("$or", "$and"):
        if not condition or not all(isinstance(one, Mapping) for one in condition):
            raise ValueError(f"{name} requires a list of filters")
        return (any if name == "$or" else all)([allows(one, metadata) for one in condition])
    tests = condition if isinstance(condition, Mapping) else {"$eq": condition}
    if name.startswith("$") or not tests or tests.keys() - {"$eq", "$contains"}:
        raise ValueError(f"{name}: use $eq or $contains for a field, or $or and $and for filters")
    return name in metadata and all(_compare(key, metadata[name], value) for key, value in tests.items())


def _compare(operator: str, found: Any, operand: Any) -> bool:
    if operator == "$eq":
        return is_equal(found, operand)
    members = operand if isinstance(operand, list) else [operand]
    return isinstance(found, list) and all(any(is_equal(item, one) for item in found) for one in members)


_load_filter = lru_cache(maxsize=64)(loads)


def allows_json(wanted: str, metadata: str) -> bool:
    """Return the result of `allows` for JSON texts; registered as an SQL function."""
    return allows(_load_filter(wanted), loads(metadata))
