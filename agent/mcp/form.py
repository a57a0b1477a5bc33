"""Elicitation of a form's fields from a person, one by one.

Forms of the specifications 2025-11-25 and 2026-07-28 (client/elicitation): texts, numbers, switches, and
choices of one or of several values, as `enum` with `enumNames`, or as `oneOf` and `anyOf` with `const` and
`title`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from agent.mcp.form_words import FormWords
from agent.shared.json_text import one_line

MAX_BUTTONS = 8
TRIES = 3
Ask = Callable[[str, Sequence[str], str], str]
"""Asks a question with options and a context, and returns the answer."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_TRUE, _FALSE = frozenset({"true", "1", "y"}), frozenset({"false", "0", "n"})


class Declined(Exception):
    """The person doesn't want to answer."""


class NotUsable(Exception):
    """An answer is invalid; the message states what is expected."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form. `choices` are values with labels; `several` may be chosen if it is a list."""

    name: str
    schema: Mapping[str, Any]
    required: bool
    choices: tuple[tuple[Any, str], ...] = ()
    several: bool = False

    @property
    def title(self) -> str:
        """Return the field's title as shown to people."""
        return one_line(self.schema.get("title")) or self.name

    @property
    def is_switch(self) -> bool:
        """Return whether the value is true or false."""
        return self.schema.get("type") == "boolean"


def read_fields(schema: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a requested schema, skipping those that are not mappings."""
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list) else []
    return [
        _read_field(str(name), entry, required=name in needed)
        for name, entry in known.items()
        if isinstance(entry, Mapping)
    ]


def fill_form(message: str, schema: Mapping[str, Any], ask: Ask, words: FormWords) -> dict[str, Any]:
    """Ask for all fields and return the content. Raises Declined."""
    content: dict[str, Any] = {}
    fields = read_fields(schema)
    if not fields:
        if _same(ask(message, [words.go_on, words.decline], ""), words.decline):
            raise Declined
        return content
    for number, field in enumerate(fields):
        value = _fill_field(field, ask, words, message if number == 0 else "")
        if value is not None:
            content[field.name] = value
    return content


def _fill_field(field: Field, ask: Ask, words: FormWords, context: str) -> Any:
    problem = ""
    for _ in range(TRIES):
        question = "\n".join(filter(None, [problem, *_describe(field, words)]))
        answer = ask(question, _options(field, words), context).strip()
        if _same(answer, words.decline):
            raise Declined
        if not field.required and (not answer or _same(answer, words.skip)):
            return None
        try:
            return _read_answer(field, answer, words)
        except NotUsable as error:
            problem = str(error)
    raise Declined


def _read_field(name: str, schema: Mapping[str, Any], *, required: bool) -> Field:
    if "type" not in schema:
        # A field that may be null, as pydantic writes it.
        kinds = [one for one in schema.get("anyOf") or () if isinstance(one, Mapping) and "type" in one]
        others = [one for one in kinds if one["type"] != "null" and "const" not in one]
        schema = {**schema, **(others[0] if len(others) == 1 else {})}
    several = schema.get("type") == "array"
    items = schema.get("items")
    source: Mapping[str, Any] = items if several and isinstance(items, Mapping) else schema
    return Field(name, schema, required, tuple(_read_choices(source)), several)


def _read_choices(schema: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for key in ("oneOf", "anyOf"):
        for entry in schema.get(key) or ():
            if isinstance(entry, Mapping) and "const" in entry:
                yield entry["const"], one_line(entry.get("title")) or str(entry["const"])
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        yield from ((value, one_line(str(label))) for value, label in zip(values, labels, strict=True))


def _describe(field: Field, words: FormWords) -> Iterator[str]:
    yield field.title
    yield one_line(field.schema.get("description"))
    if field.choices and (field.several or len(field.choices) > MAX_BUTTONS):
        yield words.choose.format(labels=", ".join(label for _, label in field.choices))
    if field.several:
        yield words.several
    if "default" in field.schema:
        yield words.default.format(value=field.schema["default"])
    if not field.required:
        yield words.optional


def _options(field: Field, words: FormWords) -> list[str]:
    labels = [label for _, label in field.choices] if not field.several else []
    if field.is_switch:
        labels = [words.yes, words.no]
    offered = labels if len(labels) <= MAX_BUTTONS else []
    return [*offered, *([] if field.required else [words.skip]), words.decline]


def _read_answer(field: Field, answer: str, words: FormWords) -> Any:
    if field.several:
        parts = [part for part in re.split(r"[,;，；、\n]", answer) if part.strip()]
        return _check_count(field, [_choose(field, part, words) for part in parts], words)
    if field.choices:
        return _choose(field, answer, words)
    if field.is_switch:
        return _read_switch(answer, words)
    if field.schema.get("type") in {"number", "integer"}:
        return _read_number(field.schema, answer, words)
    return _read_text(field.schema, answer, words)


def _choose(field: Field, answer: str, words: FormWords) -> Any:
    for value, label in field.choices:
        if _same(answer, label) or _same(answer, str(value)):
            return value
    raise NotUsable(words.choose.format(labels=", ".join(label for _, label in field.choices)))


def _check_count(field: Field, values: list[Any], words: FormWords) -> list[Any]:
    least, most = field.schema.get("minItems"), field.schema.get("maxItems")
    is_short = isinstance(least, int) and len(values) < least
    if is_short or (isinstance(most, int) and len(values) > most):
        raise NotUsable(words.number.format(least=_or_dots(least), most=_or_dots(most)))
    return values


def _read_switch(answer: str, words: FormWords) -> bool:
    if _same(answer, words.yes) or answer.casefold() in _TRUE:
        return True
    if _same(answer, words.no) or answer.casefold() in _FALSE:
        return False
    raise NotUsable(words.choose.format(labels=f"{words.yes}, {words.no}"))


def _read_number(schema: Mapping[str, Any], answer: str, words: FormWords) -> int | float:
    try:
        value = float(answer.replace(",", "."))
    except ValueError:
        raise NotUsable(words.a_number) from None
    whole = schema.get("type") == "integer"
    least, most = schema.get("minimum"), schema.get("maximum")
    too_small = isinstance(least, int | float) and value < least
    too_large = isinstance(most, int | float) and value > most
    if too_small or too_large or math.isnan(value) or (whole and not value.is_integer()):
        raise NotUsable(words.number.format(least=_or_dots(least), most=_or_dots(most)))
    return int(value) if whole else value


def _read_text(schema: Mapping[str, Any], answer: str, words: FormWords) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    is_short = isinstance(least, int) and len(answer) < least
    if is_short or (isinstance(most, int) and len(answer) > most):
        raise NotUsable(words.length.format(least=_or_dots(least), most=_or_dots(most)))
    check = _FORMATS.get(str(schema.get("format")))
    try:
        is_valid = check is None or check(answer) is not None
    except ValueError:
        is_valid = False
    if not is_valid:
        raise NotUsable(words.formatted.format(format=schema["format"]))
    return answer


_FORMATS: Mapping[str, Callable[[str], Any]] = {
    "email": _EMAIL.fullmatch,
    "uri": _ADDRESS.fullmatch,
    "date": date.fromisoformat,
    "date-time": datetime.fromisoformat,
}
"""By format, a function that returns None or raises ValueError for a text in another one."""


def _same(answer: str, label: str) -> bool:
    return " ".join(answer.split()).casefold() == " ".join(label.split()).casefold()


def _or_dots(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else "…"
