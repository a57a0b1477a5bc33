"""Values in card components. Nothing here fails: undocumented formats are omitted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bot.platforms.payload import Json, get_string

MAX_OPTIONS = 50
MAX_ADDRESSES = 100
"""Addresses that are filled into one text; each may be as long as the card."""
_VARIABLE = re.compile(r"\(\$([^()\s]{1,100})\)")
_LANGUAGES = ("zh_cn", "en_us")
_ADDRESSES = ("url", "default_url", "pc_url", "android_url", "ios_url")
_CHILDREN = ("elements", "columns", "actions")


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a selection."""

    text: object
    value: str
    selected: bool


def objects(value: object) -> list[Json]:
    """Return the objects in a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def child_objects(element: Json) -> list[Any]:
    """Return the components in a component, in order."""
    found: list[Any] = []
    for key in _CHILDREN:
        value = element.get(key)
        found += value if isinstance(value, list) else []
    extra = element.get("extra")
    return [*found, extra] if isinstance(extra, dict) else found


def pick_language(value: object) -> Any:
    """Return the value for one language: Chinese or English if available, otherwise the first."""
    if not isinstance(value, dict):
        return None
    found = (value.get(key) for key in (*_LANGUAGES, *value))
    return next((one for one in found if one), None)


def read_plain(value: object) -> str:
    """Return a text: a string, a number, or a text object in one language."""
    if isinstance(value, str):
        return get_string({"text": value}, "text")
    if isinstance(value, bool) or not isinstance(value, dict | int | float):
        return ""
    if not isinstance(value, dict):
        return f"{value:g}" if isinstance(value, float) else str(value) if abs(value) < 10**30 else ""
    found = (
        value.get("content") or pick_language(value.get("i18n_content")) or pick_language(value.get("i18n"))
    )
    text = read_plain(found) if isinstance(found, str) else ""
    if not text and isinstance(value.get("text"), str):
        text = read_plain(value["text"])
    hrefs = value.get("href")
    return _fill_addresses(text, hrefs) if isinstance(hrefs, dict) else text


def _fill_addresses(text: str, hrefs: Json) -> str:
    """Replace `($name)` by addresses in a single pass, because nested references would grow exponentially."""

    def address_of(found: re.Match[str]) -> str:
        href = hrefs.get(found[1])
        return f"({find_address(href)})" if isinstance(href, dict) else found[0]

    return _VARIABLE.sub(address_of, text, count=MAX_ADDRESSES)


def find_address(element: Json) -> str:
    """Return the address opened by a component, or "" if there is none."""
    candidates = [element, element.get("multi_url"), *objects(element.get("behaviors"))]
    for one in candidates:
        found = (one.get(key) for key in _ADDRESSES) if isinstance(one, dict) else ()
        address = next((text for text in found if isinstance(text, str) and text), "")
        if address:
            return read_plain(address)
    return ""


def read_choices(element: Json) -> list[Choice]:
    """Return the options of a selection."""
    chosen = [element.get("initial_option"), *_strings(element.get("selected_values"))]
    chosen += _strings(element.get("initial_options"))
    found = []
    for option in objects(element.get("options"))[:MAX_OPTIONS]:
        value = read_plain(option.get("value"))
        found.append(Choice(option.get("text") or value, value, bool(value) and value in chosen))
    return found


def _strings(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
