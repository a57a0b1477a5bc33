"""Filters of item searches, as LangGraph's API documents them (`langgraph.store.base.SearchOp`).

A field is compared with a value, with the fields of an object, or by operators. LangGraph's own stores differ
on nested fields, names of fields, and comparisons of different types; this module defines one behavior.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from json import loads
from typing import Any

_MISSING = object()
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)


def find_filter_problem(wanted: Mapping[str, Any], place: str = "filter") -> str:
    """Return the problem with a filter, or ""."""
    for name, condition in wanted.items():
        if name.startswith("$"):
            return f"{place}: operators such as {name!r} belong to the value of a field"
        inner = f"{place}.{name}"
        if not isinstance(condition, Mapping):
            continue
        operators = [key for key in condition if key.startswith("$")]
        if unknown := [key for key in operators if key not in _OPERATORS]:
            return f"{inner}: unknown operator {unknown[0]!r}; use one of {', '.join(_OPERATORS)}"
        if operators and len(operators) < len(condition):
            return f"{inner}: mixes operators and fields; use only one kind"
        if bad := [key for key in operators if key in _COMPARISONS and not _kind(condition[key])]:
            return f"{inner}: {bad[0]} needs a number or a string"
        if not operators and (problem := find_filter_problem(condition, inner)):
            return problem
    return ""


def matches_filter(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether an item's value matches a valid filter.

    Numbers are compared with numbers and strings with strings. A missing field equals null and matches no
    other condition.
    """
    return all(_matches(value.get(name, _MISSING), condition) for name, condition in wanted.items())


@lru_cache(maxsize=8)
def _load_filter(text: str) -> Mapping[str, Any]:
    wanted: Mapping[str, Any] = loads(text)
    return wanted


def matches_json(value: str | bytes, wanted: str) -> bool:
    """Return the result of `matches_filter` for JSON texts; registered as an SQL function."""
    return matches_filter(loads(value), _load_filter(wanted))


def _matches(found: Any, condition: Any) -> bool:
    if not isinstance(condition, Mapping):
        return is_equal(found, condition)
    if not any(key.startswith("$") for key in condition):
        return isinstance(found, Mapping) and matches_filter(found, condition)
    return all(_compare(name, found, operand) for name, operand in condition.items())


def _compare(name: str, found: Any, operand: Any) -> bool:
    if name == "$eq":
        return is_equal(found, operand)
    if name == "$ne":
        return found is not _MISSING and not is_equal(found, operand)
    return _kind(found) == _kind(operand) and _COMPARISONS[name](found, operand)


def is_equal(found: Any, wanted: Any) -> bool:
    """Return whether two JSON values are equal; unlike in Python, `true` is not 1."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(is_equal(found[key], wanted[key]) for key in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(is_equal, found, wanted))
    if found is _MISSING:
        return wanted is None
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def _kind(value: Any) -> str:
    """Return "text" or "number", or "" for values without an order."""
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else ""
