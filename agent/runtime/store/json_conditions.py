"""Conditions for the JSON in a column, on both databases.

PostgreSQL's `jsonb` can't hold a NUL character, so columns contain text, and NUL is compared as U+FFFD.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Text,
    and_,
    case,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB

from agent.runtime.access import Filter, allows
from agent.runtime.domain import Json
from agent.runtime.encode import dumps
from agent.runtime.store.statements import is_sqlite

Condition = ColumnElement[bool]
_NO_PATH = frozenset('"\\\0')
"""Characters of names that SQLite's JSON paths can't express."""
_NUL, _REPLACED = "\\u0000", "\\ufffd"
_NUL_PATTERN = r"(?<!\\)((?:\\\\)*)\\u0000"
"""An escaped NUL in JSON: an odd number of backslashes before it belong to it."""


def access_conditions(connection: Connection, column: Any, wanted: Filter | None) -> list[Condition]:
    """Return conditions for the metadata in `column` to match a filter. Raises `ValueError` for an invalid
    one.
    """
    if not wanted:
        return []
    if not is_sqlite(connection):
        allows(wanted, {})
        return [_matches(_as_jsonb(column), wanted)]
    # The first ones only save calls of the function, which decides.
    texts = {
        name: value for name, value in wanted.items() if isinstance(value, str) and _NO_PATH.isdisjoint(name)
    }
    decision = func.access_allows(dumps(wanted).decode(), cast(column, Text))
    return [*json_contains(connection, column, texts), decision]


def json_contains(connection: Connection, column: Any, expected: Json) -> list[Condition]:
    """Return conditions for the JSON object in `column` to contain `expected`; lists must be equal."""
    if is_sqlite(connection):
        return _sqlite_contains(cast(column, Text), expected)
    return _postgres_contains(_as_jsonb(column), expected)


def _sqlite_contains(column: Any, expected: Json, path: str = "$") -> list[Condition]:
    conditions: list[Condition] = []
    for key, value in expected.items():
        if not _NO_PATH.isdisjoint(key):
            conditions.append(text("0"))  # type: ignore[arg-type]
            continue
        at = f'{path}."{key}"'
        if isinstance(value, dict):
            conditions.extend(_sqlite_contains(column, value, at))
        elif isinstance(value, list):
            conditions.append(func.json_extract(column, at) == func.json(dumps(value).decode()))
        elif value is None:
            conditions.append(func.json_type(column, at) == "null")
        elif isinstance(value, bool):
            conditions.append(func.json_type(column, at) == ("true" if value else "false"))
        elif isinstance(value, str) and "\0" not in value:
            conditions.append(func.json_extract(column, at) == value)
        else:
            # As SQLite reads it: texts end at a NUL, and larger integers than 64 bits can't be parameters.
            conditions.append(func.json_extract(column, at) == func.json_extract(dumps(value).decode(), "$"))
    return conditions


def _postgres_contains(found: Any, expected: Json) -> list[Condition]:
    conditions: list[Condition] = []
    for key, value in expected.items():
        inner = _get(found, key)
        conditions += (
            _postgres_contains(inner, value) if isinstance(value, dict) else [inner == _literal(value)]
        )
    return conditions


def _matches(found: Any, wanted: Filter) -> Condition:
    return and_(true(), *[_matches_field(found, name, condition) for name, condition in wanted.items()])


def _matches_field(found: Any, name: str, condition: Any) -> Condition:
    if name in ("$or", "$and"):
        return (or_ if name == "$or" else and_)(*[_matches(found, one) for one in condition])
    inner = _get(found, name)
    tests = condition if isinstance(condition, dict) else {"$eq": condition}
    is_equal = [inner == _literal(value) for key, value in tests.items() if key == "$eq"]
    has = [_has_members(inner, value) for key, value in tests.items() if key == "$contains"]
    return and_(true(), *is_equal, *has)


def _has_members(found: Any, members: Any) -> Condition:
    """Return whether a list has these members. The list is checked first, as other values have no members."""
    is_list = func.coalesce(func.jsonb_typeof(found), "") == "array"
    item = func.jsonb_array_elements(case((is_list, found), else_=_literal([]))).column_valued("item")
    wanted = members if isinstance(members, list) else [members]
    has_all = [exists(select(item).where(item == _literal(member))) for member in wanted]
    return and_(is_list, *has_all)


def _get(found: Any, key: str) -> Any:
    """Return a field of an object; NULL if it has no such field, or is none."""
    return found.op("->", return_type=JSONB())(cast(key.replace("\0", "\ufffd"), Text))


def _literal(value: Any) -> Any:
    """Return a value as `jsonb`."""
    written = dumps(value).decode()
    return cast(_clean(literal(written)) if _NUL in written else literal(written), JSONB)


def _as_jsonb(column: Any) -> Any:
    written = (
        func.convert_from(column, "UTF8") if isinstance(column.type, LargeBinary) else cast(column, Text)
    )
    has_nul = func.strpos(written, _NUL) > 0
    return cast(case((has_nul, _clean(written)), else_=written), JSONB)


def _clean(written: Any) -> Any:
    return func.regexp_replace(written, _NUL_PATTERN, rf"\1\{_REPLACED}", "g")
