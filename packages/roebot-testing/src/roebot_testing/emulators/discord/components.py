"""Components of messages: rows of buttons and menus, and layouts with text, within Discord's limits.

Source unless another is named: docs.discord.com/developers/components/reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from roebot_testing.emulators.discord.forms import (
    FormError,
    FormRule,
    at_least,
    at_most,
    check,
    choice,
    length,
    required,
    rule,
    url,
)
from roebot_testing.emulators.fields import Path

ROW, BUTTON, MENU, SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER = (
    1, 2, 3, 9, 10, 11, 12, 13, 14, 17,
)  # fmt: skip
ENTITY_MENUS = (5, 6, 7, 8)
IS_COMPONENTS_V2 = 1 << 15
"""Flag of messages that consist of components alone
(docs.discord.com/developers/resources/message#message-object-message-flags)."""
LINK, PREMIUM = 5, 6
_TOTAL, _CHARACTERS = 40, 4000
_REFERENCE = "docs.discord.com/developers/components/reference#"
_BUTTON_TEXTS = "merlinfuchs/embed-generator#52, discordjs/discord.js#6639"


def _types(path: str, allowed: tuple[int, ...], source: str) -> FormRule:
    """Return a rule for the types of components at a place."""
    text = f'Value of field "type" must be one of {allowed}.'
    return rule(
        path,
        "UNION_TYPE_CHOICES",
        text,
        lambda one: isinstance(one, dict) and one.get("type") in allowed,
        source,
    )


def _legacy_only(field: str) -> FormRule:
    return rule(
        field,
        "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        f"The '{field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
        lambda value: not value,
        "docs.discord.com/developers/resources/message#create-message",
    )


def _list_repeated_ids(components: Any) -> list[Path]:
    seen: set[str] = set()
    found: list[Path] = []
    for path, one in walk(components):
        name = one.get("custom_id")
        if name is not None and str(name) in seen:
            found.append((*path, "custom_id"))
        seen.add(str(name))
    return found


def _list_too_wide(components: Any) -> list[Path]:
    """Return the components that share a row with a menu, which occupies a whole row."""
    menus = any(one.get("type") in (MENU, *ENTITY_MENUS) for one in components)
    return [(index,) for index in range(1, len(components))] if menus else []


def _list_repeated_values(options: Any) -> list[Path]:
    values = [option.get("value") for option in options]
    return [(index, "value") for index, value in enumerate(values) if value in values[:index]]


def displayed_characters(components: Any) -> int:
    """Return the number of characters in text displays."""
    return sum(len(str(one.get("content") or "")) for _, one in walk(components) if one.get("type") == TEXT)


_ALL = (
    FormRule(
        "components",
        "COMPONENT_CUSTOM_ID_DUPLICATED",
        "Component custom id cannot be duplicated",
        _list_repeated_ids,
        f"{_REFERENCE}anatomy-of-a-component-custom-id; text: AntyBot/anty-support#27",
    ),
)
LEGACY = (
    *_ALL,
    length("components", 5, source=f"{_REFERENCE}legacy-message-component-behavior"),
    _types("components[]", (ROW,), f"{_REFERENCE}legacy-message-component-behavior"),
)
"""Rules about the components of a message with content."""
LAYOUT = (
    *_ALL,
    _legacy_only("content"),
    _legacy_only("embeds"),
    _types(
        "components[]",
        (ROW, SECTION, TEXT, GALLERY, FILE, SEPARATOR, CONTAINER),
        f"{_REFERENCE}component-object",
    ),
    rule(
        "components",
        "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
        f"Total number of components cannot exceed {_TOTAL}",
        lambda components: sum(1 for _ in walk(components)) <= _TOTAL,
        f"{_REFERENCE}component-reference",
    ),
    rule(
        "components",
        "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
        f"Components displayable text size exceeds maximum size of {_CHARACTERS}",
        lambda components: displayed_characters(components) <= _CHARACTERS,
        "discord-api-docs#8562, #8554",
    ),
)
"""Rules about a message with IS_COMPONENTS_V2."""

_ROW = (
    required("components", f"{_REFERENCE}action-row"),
    length("components", 5, 1, source=f"{_REFERENCE}action-row; text: TFNS/CTFNote#408"),
    _types(
        "components[]", (BUTTON, MENU, *ENTITY_MENUS), f"{_REFERENCE}action-row-action-row-child-components"
    ),
    FormRule(
        "components",
        "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
        "The specified component exceeds the maximum width",
        _list_too_wide,
        f"{_REFERENCE}action-row; text: discord-api-docs#3395, dotnize/Dodong#28",
    ),
)
_BUTTON = (
    choice("style", (1, 2, 3, 4, 5, 6), f"{_REFERENCE}button-button-styles"),
    length("label", 80, 1, source=f"{_REFERENCE}button-button-structure"),
    required(
        "",
        f"{_REFERENCE}button",
        unless=lambda one: one.get("label") is not None or one.get("emoji") or one.get("style") == PREMIUM,
    ),
    length("custom_id", 100, 1, source=f"{_REFERENCE}button-button-structure"),
    FormRule(
        "",
        "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED",
        "A custom id is required",
        lambda one: (
            [("custom_id",)] if one.get("style") not in (LINK, PREMIUM) and "custom_id" not in one else []
        ),
        f"{_REFERENCE}button-button-structure; text: nextcord/nextcord#1254",
    ),
    rule(
        "",
        "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
        "A custom id and url cannot both be specified",
        lambda one: not (one.get("custom_id") and one.get("url")),
        f"{_REFERENCE}button-button-structure; {_BUTTON_TEXTS}",
    ),
    FormRule(
        "",
        "BUTTON_COMPONENT_URL_REQUIRED",
        "A url is required",
        lambda one: [("url",)] if one.get("style") == LINK and not one.get("url") else [],
        f"{_REFERENCE}button-button-structure; text: appujet/Wave-Music#2",
    ),
    length("url", 512, source=f"{_REFERENCE}button-button-structure"),
    url("url", ("http", "https", "discord"), f"{_REFERENCE}button-button-structure"),
)
_MENU = (
    required("custom_id", f"{_REFERENCE}string-select"),
    length("custom_id", 100, 1, source=f"{_REFERENCE}string-select"),
    length("placeholder", 150, source=f"{_REFERENCE}string-select; text: discord-api-docs#4551"),
    at_least("min_values", 0, f"{_REFERENCE}string-select"),
    at_most("min_values", 25, f"{_REFERENCE}string-select"),
    at_least("max_values", 1, f"{_REFERENCE}string-select"),
    at_most("max_values", 25, f"{_REFERENCE}string-select"),
)
_OPTIONS = (
    required("options", f"{_REFERENCE}string-select"),
    length("options", 25, 1, source=f"{_REFERENCE}string-select; text: Shift0117/nap-chan#21"),
    required("options[].label", f"{_REFERENCE}string-select-select-option-structure"),
    length("options[].label", 100, 1, source=f"{_REFERENCE}string-select-select-option-structure"),
    required("options[].value", f"{_REFERENCE}string-select-select-option-structure"),
    length("options[].value", 100, 1, source=f"{_REFERENCE}string-select-select-option-structure"),
    length("options[].description", 100, source=f"{_REFERENCE}string-select-select-option-structure"),
    FormRule(
        "options",
        "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        "The specified option value is already used",
        _list_repeated_values,
        f"{_REFERENCE}string-select-select-option-structure",
    ),
)
COMPONENTS: Mapping[int, tuple[FormRule, ...]] = MappingProxyType(
    {
        ROW: _ROW,
        BUTTON: _BUTTON,
        MENU: (*_MENU, *_OPTIONS),
        **dict.fromkeys(ENTITY_MENUS, _MENU),
        SECTION: (
            required("components", f"{_REFERENCE}section"),
            length("components", 3, 1, source=f"{_REFERENCE}section"),
            required("accessory", f"{_REFERENCE}section"),
            _types("components[]", (TEXT,), f"{_REFERENCE}section-section-child-components"),
            _types("accessory", (BUTTON, THUMBNAIL), f"{_REFERENCE}section-section-accessory-components"),
        ),
        TEXT: (required("content", f"{_REFERENCE}text-display"),),
        THUMBNAIL: (
            required("media", f"{_REFERENCE}thumbnail"),
            length("description", 1024, source=f"{_REFERENCE}thumbnail"),
        ),
        GALLERY: (
            required("items", f"{_REFERENCE}media-gallery"),
            length("items", 10, 1, source=f"{_REFERENCE}media-gallery"),
            length("items[].description", 1024, source=f"{_REFERENCE}media-gallery"),
        ),
        FILE: (required("file", f"{_REFERENCE}file"),),
        SEPARATOR: (choice("spacing", (1, 2), f"{_REFERENCE}separator"),),
        CONTAINER: (
            required("components", f"{_REFERENCE}container"),
            _types(
                "components[]",
                (ROW, TEXT, SECTION, GALLERY, SEPARATOR, FILE),
                f"{_REFERENCE}container-container-child-components",
            ),
        ),
    }
)
"""Rules about a component of each type."""


def walk(components: Any, at: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield all components, including nested ones, with their positions."""
    for index, one in enumerate(components if isinstance(components, list) else []):
        if isinstance(one, dict):
            yield (*at, index), one
            yield from walk(one.get("components"), (*at, index, "components"))
            if isinstance(one.get("accessory"), dict):
                yield (*at, index, "accessory"), one["accessory"]


def check_components(body: dict[str, Any], flags: int, at: Path = ()) -> list[FormError]:
    """Return the rules broken by the components of a message with these flags."""
    found = check(LAYOUT if flags & IS_COMPONENTS_V2 else LEGACY, body, at)
    for path, one in walk(body.get("components")):
        kind = one.get("type")
        rules = COMPONENTS.get(kind, ()) if isinstance(kind, int) else ()
        found += check(rules, one, (*at, "components", *path))
    return found


def labels(components: list[dict[str, Any]]) -> list[str]:
    """Return the labels of the buttons that can be pressed and of the options that can be chosen."""
    return [label for label, _ in _list_offers(components)]


def press(components: list[dict[str, Any]], label: str) -> dict[str, Any]:
    """Return the interaction data for pressing the button or choosing the option with a label.

    A label that is not there stands for the id of a button.
    (docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-message-component-data-structure)
    """
    found = (data for offered, data in _list_offers(components) if offered == label)
    return {"id": 2, **next(found, {"custom_id": label, "component_type": BUTTON})}


def _list_offers(components: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the label of each button and option that is not disabled, with the data of its interaction."""
    for _, one in walk(components):
        data = {"custom_id": one.get("custom_id", ""), "component_type": one.get("type")}
        if one.get("disabled"):
            continue
        if one.get("type") == BUTTON:
            yield one.get("label", ""), data
        elif one.get("type") == MENU:
            for option in one.get("options") or []:
                yield option["label"], {**data, "values": [option["value"]]}
