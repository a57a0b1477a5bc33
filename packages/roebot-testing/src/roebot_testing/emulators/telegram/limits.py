"""Parameter limits: the position of a value in a call, and the refused values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.fields import MISSING, find_values
from roebot_testing.emulators.telegram.entities import units
from roebot_testing.emulators.telegram.params import Params
from roebot_testing.emulators.telegram.rules import TelegramRule

Refuses = Callable[[Any], bool | str]
"""Returns True, or the reason, for a value that is refused."""


def takes_any(value: Any) -> bool:
    """Refuse nothing: for limits that only require a value."""
    return False


@dataclass(frozen=True, slots=True)
class TelegramLimit(TelegramRule):
    """A limit of the values at `path` (see `emulators.fields`) in calls of `methods`.

    `plain` parameters are strings, others JSON. A value that is missing is refused if it is `required`, else
    skipped.
    """

    methods: frozenset[str] = frozenset()
    path: str = ""
    refuses: Refuses = takes_any
    plain: bool = False
    required: bool = False


def check_limits(limits: Iterable[TelegramLimit], method: str, params: Params) -> None:
    """Check the parameters of a call. Raises TelegramApiError for the first limit that they break."""
    for limit in limits:
        if method not in limit.methods:
            continue
        for value in _find_values(params, limit):
            refused = limit.required if value is MISSING else limit.refuses(value)
            if refused:
                raise limit.refusal(value, refused if isinstance(refused, str) else "")


def _find_values(params: Params, limit: TelegramLimit) -> Iterator[Any]:
    top = re.split(r"[.[]", limit.path, maxsplit=1)[0]
    value = params.text(top) if limit.plain else params.object(top)
    body = {} if value in (None, "") else {top: value}
    return (found for _, found in find_values(body, limit.path))


def is_no_object(value: Any) -> bool:
    """Return whether a value is not a JSON object."""
    return not isinstance(value, dict)


def is_no_list(value: Any) -> bool:
    """Return whether a value is not a JSON array."""
    return not isinstance(value, list)


def is_outside(values: frozenset[str]) -> Refuses:
    """Refuse values other than `values`."""
    return lambda value: value not in values


def is_longer(limit: int) -> Refuses:
    """Refuse more than `limit` characters or items."""
    return lambda value: len(value) > limit


def has_more_units(limit: int) -> Refuses:
    """Refuse text of more than `limit` UTF-16 units, without surrounding blanks."""
    return lambda value: units(str(value).strip()) > limit
