"""Rules of card JSON 2.0: cards that Feishu refuses, as a message or as a card entity.

Sources: open.feishu.cn, "Card JSON 2.0 structure", its components, and "Card JSON 2.0 breaking changes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from markdown_it import MarkdownIt

from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.errors import FeishuApiError
from roebot_testing.emulators.feishu.state import elements
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace

CARD_LIMIT = 30 * 1024
"""Bytes of a card (cardkit-v1 card/create), and of the request of one that is sent (im-v1 message/create)."""
ELEMENT_LIMIT = 200
"""Elements and components of a card ("Card JSON 2.0 structure")."""
TABLE_LIMIT = 3
"""Tables in a card (not documented; observed limits are between three and five)."""
BUTTON_LIMIT = 100
"""Characters of a button's text (Button component)."""
_ELEMENT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}")
"""Letters, digits and underscores, a letter first, at most 20 ("Card JSON 2.0 structure")."""
_ROOT = frozenset({"schema", "config", "card_link", "header", "body"})
_CONFIG = frozenset(
    {
        "streaming_mode",
        "streaming_config",
        "summary",
        "locales",
        "enable_forward",
        "update_multi",
        "width_mode",
        "use_custom_translation",
        "enable_forward_interaction",
        "style",
    }
)
_REMOVED = frozenset({"action", "note"})
"""Components of cards 1.0 that cards 2.0 no longer have ("Card JSON 2.0 breaking changes")."""
_TAGS = frozenset(
    {
        "audio",
        "button",
        "chart",
        "checker",
        "collapsible_panel",
        "column",
        "column_set",
        "date_picker",
        "div",
        "form",
        "hr",
        "img",
        "img_combination",
        "input",
        "interactive_container",
        "markdown",
        "multi_select_person",
        "multi_select_static",
        "overflow",
        "person",
        "person_list",
        "picker_datetime",
        "picker_time",
        "select_img",
        "select_person",
        "select_static",
        "table",
    }
)
"""Components of cards 2.0 ("Card JSON 2.0 components")."""
_PANEL = frozenset(
    {
        "tag",
        "element_id",
        "direction",
        "vertical_spacing",
        "horizontal_spacing",
        "vertical_align",
        "horizontal_align",
        "padding",
        "margin",
        "expanded",
        "background_color",
        "header",
        "border",
        "elements",
    }
)
_PANEL_HEADER = frozenset(
    {
        "title",
        "background_color",
        "width",
        "vertical_align",
        "padding",
        "icon",
        "icon_position",
        "icon_expanded_angle",
    }
)
"""Properties of a collapsible panel and of its header ("Collapsible panel", JSON 2.0)."""
_AT = re.compile(r"<at\s+id=([^\s<>]+?)\s*/?>")


def check_card(world: FeishuWorkspace, data: dict[str, Any]) -> None:
    """Check a card. Raises FeishuApiError with the codes of cardkit-v1."""
    _check_structure(data)
    if len(orjson.dumps(data)) > CARD_LIMIT:
        raise rules.CARD_TOO_LONG.refusal()
    if sum(1 for one in tagged(data)) > ELEMENT_LIMIT:
        raise rules.CARD_TOO_MANY_ELEMENTS.refusal()
    for element in elements(data):
        _check_element(element)
    ids = [one["element_id"] for one in elements(data) if "element_id" in one]
    if len(ids) != len(set(ids)):
        raise rules.CARD_DOUBLE_ID.refusal()
    _check_markdown(world, (str(one.get("content", "")) for one in elements(data) if _is_markdown(one)))


def check_message_card(world: FeishuWorkspace, data: dict[str, Any]) -> None:
    """Check a message's card. Raises FeishuApiError: 230099 with the reason's code in its text; for the
    number of elements and invalid cards, the codes differ from cardkit-v1 (im-v1 message/create, sub-codes).
    """
    try:
        check_card(world, data)
    except FeishuApiError as refused:
        if refused.code == rules.MESSAGE_CARD.code:
            raise
        code = 11310 if refused.code == rules.CARD_TOO_MANY_ELEMENTS.code else refused.code
        if refused.code in (rules.CARD_SCHEMA.code, rules.CARD_EMPTY.code, rules.CARD_JSON.code):
            parse = "ErrMsg: parse card json err, please check whether the card json is correct; "
            raise rules.MESSAGE_CARD.refusal(200621, parse) from None
        raise rules.MESSAGE_CARD.refusal(code, refused.msg) from None


def _check_markdown(world: FeishuWorkspace, texts: Iterable[str]) -> None:
    """Check the number of tables and the mentions in the texts of a card. Raises FeishuApiError."""
    tables = 0
    for text in texts:
        for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
            tables += token.type == "table_open"
            for inner in [token, *(token.children or [])]:
                if inner.type in ("html_inline", "html_block"):
                    _check_mentions(world, inner.content)
    if tables > TABLE_LIMIT:
        raise rules.CARD_TABLES.refusal()


def _check_mentions(world: FeishuWorkspace, html: str) -> None:
    bots = (world.bot, *world.apps.values())
    known = {"all", *world.people, *(one.open_id for one in bots)}
    for found in _AT.findall(html):
        if found.strip("\"'") not in known:
            raise rules.CARD_NOBODY.refusal(found)


def _check_structure(data: dict[str, Any]) -> None:
    if not data:
        raise rules.CARD_EMPTY.refusal()
    if data.get("schema") != "2.0":
        raise rules.CARD_SCHEMA.refusal()
    config, body = data.get("config", {}), data.get("body", {})
    if not isinstance(config, dict) or not isinstance(body, dict):
        raise rules.CARD_JSON.refusal("config, body")
    if not isinstance(body.get("elements"), list):
        raise rules.CARD_JSON.refusal("body.elements")
    unknown = sorted((data.keys() - _ROOT) | (config.keys() - _CONFIG))
    if unknown:
        raise rules.CARD_UNKNOWN_PROPERTY.refusal(", ".join(unknown))
    check_config(config)


def check_config(config: dict[str, Any]) -> None:
    """Check the configuration of a card. Raises FeishuApiError: cards 2.0 are shared ones alone."""
    if config.get("update_multi") is False:
        raise rules.CARD_NOT_SHARED.refusal()


def _check_element(element: dict[str, Any]) -> None:
    tag = element.get("tag")
    if tag in _REMOVED:
        raise rules.CARD_REMOVED_TAG.refusal(tag)
    if tag not in _TAGS:
        raise rules.CARD_UNKNOWN_TAG.refusal(tag)
    if "element_id" in element and not _ELEMENT_ID.fullmatch(str(element["element_id"])):
        raise rules.CARD_ELEMENT_ID.refusal(element["element_id"])
    if tag == "collapsible_panel":
        _check_panel(element)
    text = element.get("text")
    if tag == "button" and isinstance(text, dict) and len(str(text.get("content", ""))) > BUTTON_LIMIT:
        raise rules.CARD_BUTTON_TEXT.refusal("text")


def _check_panel(panel: dict[str, Any]) -> None:
    header = panel.get("header")
    if not isinstance(header, dict):
        raise rules.CARD_PANEL.refusal("header")
    unknown = sorted((panel.keys() - _PANEL) | (header.keys() - _PANEL_HEADER))
    if unknown:
        raise rules.CARD_PANEL.refusal(", ".join(unknown))
    if any(inner["tag"] == "form" for inner in tagged(panel.get("elements"))):
        raise rules.CARD_PANEL_FORM.refusal("form")


def tagged(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the elements and components of a card, texts within components included."""
    if isinstance(value, dict):
        if "tag" in value:
            yield value
        for key, inner in value.items():
            if key != "behaviors":
                yield from tagged(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from tagged(inner)


def _is_markdown(element: dict[str, Any]) -> bool:
    return element.get("tag") == "markdown"
