"""Each rule of the emulator about fields refuses a body that breaks it, and takes one exactly at its limit.

The rules name their sources; `test_every_rule_has_a_case` keeps this list complete.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx
import pytest

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.components import (
    BUTTON,
    COMPONENTS,
    CONTAINER,
    FILE,
    GALLERY,
    IS_COMPONENTS_V2,
    LAYOUT,
    LEGACY,
    MENU,
    ROW,
    SECTION,
    SEPARATOR,
    TEXT,
    THUMBNAIL,
)
from roebot_testing.emulators.discord.forms import FormRule
from roebot_testing.emulators.discord.interactions import CALLBACK, FOR_COMPONENTS
from roebot_testing.emulators.discord.rules import TABLES

Body = Any
Case = tuple[str, str, str, Body, Body]
"""Table, path and code of a rule, a body that breaks it, and one that just does not."""


def embed(**fields: Any) -> Body:
    return {"embeds": [{"title": "t", **fields}]}


def field(**changes: Any) -> Body:
    return embed(fields=[{"name": "n", "value": "v", **changes}])


def without(body: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != key}


def button(**changes: Any) -> dict[str, Any]:
    return {"type": BUTTON, "style": 2, "label": "Go", "custom_id": "go", **changes}


def link(**changes: Any) -> dict[str, Any]:
    return {"type": BUTTON, "style": 5, "label": "Go", "url": "https://example.org", **changes}


def options(count: int) -> list[dict[str, Any]]:
    return [{"label": f"o{number}", "value": f"v{number}"} for number in range(count)]


def menu(**changes: Any) -> dict[str, Any]:
    return {"type": MENU, "custom_id": "menu", "options": options(1), **changes}


def option_menu(**changes: Any) -> dict[str, Any]:
    return menu(options=[{"label": "o", "value": "v", **changes}])


def buttons(count: int) -> list[dict[str, Any]]:
    return [button(custom_id=f"b{number}") for number in range(count)]


def row(*inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": ROW, "components": list(inner) or [button()]}


def text(content: str = "t") -> dict[str, Any]:
    return {"type": TEXT, "content": content}


def section(**changes: Any) -> dict[str, Any]:
    return {"type": SECTION, "components": [text()], "accessory": button(), **changes}


MEDIA = {"media": {"url": "https://example.org/a.png"}}


def gallery(*items: dict[str, Any]) -> dict[str, Any]:
    return {"type": GALLERY, "items": list(items)}


def rows(count: int) -> list[dict[str, Any]]:
    return [row(button(custom_id=f"r{number}")) for number in range(count)]


def option(**changes: Any) -> dict[str, Any]:
    return {"name": "text", "description": "Text", "type": 3, **changes}


def options_of(*found: dict[str, Any]) -> dict[str, Any]:
    return {"options": list(found)}


def choices(count: int, **changes: Any) -> dict[str, Any]:
    return options_of(option(choices=[{"name": f"c{n}", "value": f"v{n}", **changes} for n in range(count)]))


def sized(characters: int) -> dict[str, Any]:
    """Return options that give the command `do` so many characters in all."""
    left, found = characters - len("do") - len("Does"), []
    while left > 0:
        filled: list[dict[str, str]] = []
        found.append(option(name=f"o{len(found):02}", description="d", choices=filled))
        left -= len("o00") + len("d")
        while left > 0 and len(filled) < 25:
            filled.append({"name": "n", "value": "v" * min(100, left - 1)})
            left -= 1 + len(filled[-1]["value"])
    return options_of(*found)


REPEATED = [{"label": "a", "value": "same"}, {"label": "b", "value": "same"}]
ALLOWED = "allowed_mentions"
EXCLUSIVE = "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"
LONG, BAD, MISSING, OTHER = (
    "BASE_TYPE_MAX_LENGTH",
    "BASE_TYPE_BAD_LENGTH",
    "BASE_TYPE_REQUIRED",
    "BASE_TYPE_CHOICES",
)
LOW, HIGH, NO_ID, UNION = "NUMBER_TYPE_MIN", "NUMBER_TYPE_MAX", "NUMBER_TYPE_COERCE", "UNION_TYPE_CHOICES"
SCHEME, BAD_NAME = "URL_TYPE_INVALID_SCHEME", "APPLICATION_COMMAND_INVALID_NAME"

MESSAGES: Sequence[Case] = (
    ("message", "content", LONG, {"content": "x" * 2001}, {"content": "x" * 2000}),
    ("message", "nonce", "NONCE_TYPE_INVALID_TYPE", {"nonce": [1]}, {"nonce": 1}),
    ("message", "nonce", "NONCE_TYPE_TOO_LONG", {"nonce": "n" * 26}, {"nonce": "n" * 25}),
    ("message", "embeds", LONG, {"embeds": [{"title": "t"}] * 11}, {"embeds": [{"title": "t"}] * 10}),
    (
        "message",
        "embeds",
        "MAX_EMBED_SIZE_EXCEEDED",
        {"embeds": [{"description": "d" * 4000, "footer": {"text": "f" * 2001}}]},
        {"embeds": [{"description": "d" * 4000, "footer": {"text": "f" * 2000}}]},
    ),
    ("message", "embeds[].title", LONG, embed(title="t" * 257), embed(title=f" {'t' * 256} ")),
    ("message", "embeds[].description", LONG, embed(description="d" * 4097), embed(description="d" * 4096)),
    (
        "message",
        "embeds[].fields",
        LONG,
        embed(fields=[{"name": "n", "value": "v"}] * 26),
        embed(fields=[{"name": "n", "value": "v"}] * 25),
    ),
    ("message", "embeds[].fields[].name", LONG, field(name="n" * 257), field(name="n" * 256)),
    ("message", "embeds[].fields[].value", LONG, field(value="v" * 1025), field(value="v" * 1024)),
    ("message", "embeds[].fields[].name", MISSING, embed(fields=[{"value": "v"}]), field(name="")),
    ("message", "embeds[].fields[].value", MISSING, embed(fields=[{"name": "n"}]), field(value="")),
    (
        "message",
        "embeds[].footer.text",
        LONG,
        embed(footer={"text": "f" * 2049}),
        embed(footer={"text": "f" * 2048}),
    ),
    (
        "message",
        "embeds[].author.name",
        LONG,
        embed(author={"name": "a" * 257}),
        embed(author={"name": "a" * 256}),
    ),
    ("message", "embeds[].url", SCHEME, embed(url="ftp://x"), embed(url="https://x")),
    (
        "message",
        "embeds[].image.url",
        SCHEME,
        embed(image={"url": "file:///x"}),
        embed(image={"url": "attachment://x.png"}),
    ),
    (
        "message",
        f"{ALLOWED}.parse[]",
        OTHER,
        {ALLOWED: {"parse": ["here"]}},
        {ALLOWED: {"parse": ["everyone"]}},
    ),
    (
        "message",
        ALLOWED,
        EXCLUSIVE,
        {ALLOWED: {"parse": ["users"], "users": ["5"]}},
        {ALLOWED: {"users": ["5"]}},
    ),
    (
        "message",
        ALLOWED,
        EXCLUSIVE,
        {ALLOWED: {"parse": ["roles"], "roles": ["5"]}},
        {ALLOWED: {"parse": ["roles"], "roles": []}},
    ),
    (
        "message",
        f"{ALLOWED}.users",
        LONG,
        {ALLOWED: {"users": ["5"] * 101}},
        {ALLOWED: {"users": ["5"] * 100}},
    ),
    (
        "message",
        f"{ALLOWED}.roles",
        LONG,
        {ALLOWED: {"roles": ["5"] * 101}},
        {ALLOWED: {"roles": ["5"] * 100}},
    ),
    ("message", f"{ALLOWED}.users[]", NO_ID, {ALLOWED: {"users": ["Ada"]}}, {ALLOWED: {"users": [5]}}),
    ("message", f"{ALLOWED}.roles[]", NO_ID, {ALLOWED: {"roles": ["Team"]}}, {ALLOWED: {"roles": ["5"]}}),
    (
        "message",
        "message_reference",
        "MODEL_TYPE_CONVERT",
        {"message_reference": "5"},
        {"message_reference": None},
    ),
    (
        "message",
        "message_reference.message_id",
        NO_ID,
        {"message_reference": {"message_id": "x"}},
        {"message_reference": {"message_id": "5", "fail_if_not_exists": False}},
    ),
    (
        "message",
        "attachments[].title",
        LONG,
        {"attachments": [{"id": 0, "title": "t" * 1025}]},
        {"attachments": [{"id": 0, "title": "t" * 1024}]},
    ),
    (
        "message",
        "attachments[].description",
        LONG,
        {"attachments": [{"id": 0, "description": "d" * 1025}]},
        {"attachments": [{"id": 0, "description": "d" * 1024}]},
    ),
)
LAYOUTS: Sequence[Case] = (
    (
        "legacy",
        "components",
        "COMPONENT_CUSTOM_ID_DUPLICATED",
        {"components": [row(button(), button(disabled=True))]},
        {"components": [row(button(), button(custom_id="Go"))]},
    ),
    ("legacy", "components", LONG, {"components": rows(6)}, {"components": rows(5)}),
    ("legacy", "components[]", UNION, {"components": [text()]}, {"components": [row()]}),
    (
        "layout",
        "components",
        "COMPONENT_CUSTOM_ID_DUPLICATED",
        {"components": [section(), row()]},
        {"components": [section(), row(button(custom_id="other"))]},
    ),
    (
        "layout",
        "content",
        "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        {"content": "x", "components": [text()]},
        {"content": None, "components": [text()]},
    ),
    (
        "layout",
        "embeds",
        "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        {"embeds": [{"title": "t"}], "components": [text()]},
        {"embeds": [], "components": [text()]},
    ),
    ("layout", "components[]", UNION, {"components": [button()]}, {"components": [text()]}),
    (
        "layout",
        "components",
        "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
        {"components": [{"type": CONTAINER, "components": [text()] * 40}]},
        {"components": [{"type": CONTAINER, "components": [text()] * 39}]},
    ),
    (
        "layout",
        "components",
        "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
        {"components": [text("x" * 2000), text("x" * 2001)]},
        {"components": [text("x" * 2000), text("x" * 2000)]},
    ),
)
PARTS: Sequence[Case] = (
    ("1", "components", MISSING, {"type": ROW}, row()),
    ("1", "components", BAD, row(*buttons(6)), row(*buttons(5))),
    ("1", "components[]", UNION, row(row()), row(menu())),
    ("1", "components", "COMPONENT_LAYOUT_WIDTH_EXCEEDED", row(menu(), button()), row(menu())),
    ("2", "style", OTHER, button(style=7), button(style=4)),
    ("2", "label", BAD, button(label="l" * 81), button(label="l" * 80)),
    ("2", "", MISSING, without(button(), "label"), {**without(button(), "label"), "emoji": {"name": "🔥"}}),
    ("2", "custom_id", BAD, button(custom_id="c" * 101), button(custom_id="c" * 100)),
    ("2", "", "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", without(button(), "custom_id"), button()),
    ("2", "", "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", link(custom_id="x"), link()),
    ("2", "", "BUTTON_COMPONENT_URL_REQUIRED", without(link(), "url"), link()),
    ("2", "url", LONG, link(url=f"https://{'x' * 505}"), link(url=f"https://{'x' * 504}")),
    ("2", "url", SCHEME, link(url="steam://run"), link(url="discord://-/app")),
    ("3", "custom_id", MISSING, without(menu(), "custom_id"), menu()),
    ("3", "custom_id", BAD, menu(custom_id="c" * 101), menu(custom_id="c" * 100)),
    ("3", "placeholder", LONG, menu(placeholder="p" * 151), menu(placeholder="p" * 150)),
    ("3", "min_values", LOW, menu(min_values=-1), menu(min_values=0)),
    ("3", "min_values", HIGH, menu(min_values=26), menu(min_values=25)),
    ("3", "max_values", LOW, menu(max_values=0), menu(max_values=1)),
    ("3", "max_values", HIGH, menu(max_values=26), menu(max_values=25)),
    ("3", "options", MISSING, without(menu(), "options"), menu()),
    ("3", "options", BAD, menu(options=options(26)), menu(options=options(25))),
    ("3", "options[].label", MISSING, menu(options=[{"value": "v"}]), menu()),
    ("3", "options[].label", BAD, option_menu(label="l" * 101), option_menu(label="l" * 100)),
    ("3", "options[].value", MISSING, menu(options=[{"label": "l"}]), menu()),
    ("3", "options[].value", BAD, option_menu(value="v" * 101), option_menu(value="v" * 100)),
    (
        "3",
        "options[].description",
        LONG,
        option_menu(description="d" * 101),
        option_menu(description="d" * 100),
    ),
    (
        "3",
        "options",
        "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        menu(options=REPEATED),
        menu(options=options(2)),
    ),
    ("9", "components", MISSING, without(section(), "components"), section()),
    ("9", "components", BAD, section(components=[text()] * 4), section(components=[text()] * 3)),
    ("9", "accessory", MISSING, without(section(), "accessory"), section()),
    ("9", "components[]", UNION, section(components=[row()]), section()),
    ("9", "accessory", UNION, section(accessory=text()), section(accessory={"type": THUMBNAIL, **MEDIA})),
    ("10", "content", MISSING, {"type": TEXT}, text()),
    (
        "11",
        "media",
        MISSING,
        section(accessory={"type": THUMBNAIL}),
        section(accessory={"type": THUMBNAIL, **MEDIA}),
    ),
    (
        "11",
        "description",
        LONG,
        section(accessory={"type": THUMBNAIL, **MEDIA, "description": "d" * 1025}),
        section(accessory={"type": THUMBNAIL, **MEDIA, "description": "d" * 1024}),
    ),
    ("12", "items", MISSING, {"type": GALLERY}, gallery(MEDIA)),
    ("12", "items", BAD, gallery(*[MEDIA] * 11), gallery(*[MEDIA] * 10)),
    (
        "12",
        "items[].description",
        LONG,
        gallery({**MEDIA, "description": "d" * 1025}),
        gallery({**MEDIA, "description": "d" * 1024}),
    ),
    ("13", "file", MISSING, {"type": FILE}, {"type": FILE, "file": {"url": "attachment://a.txt"}}),
    ("14", "spacing", OTHER, {"type": SEPARATOR, "spacing": 3}, {"type": SEPARATOR, "spacing": 2}),
    ("17", "components", MISSING, {"type": CONTAINER}, {"type": CONTAINER, "components": []}),
    (
        "17",
        "components[]",
        UNION,
        {"type": CONTAINER, "components": [{"type": CONTAINER, "components": []}]},
        {"type": CONTAINER, "components": [row(), text(), gallery(MEDIA)]},
    ),
)
FORMS: Sequence[Case] = (
    ("thread", "name", MISSING, {}, {"name": "t"}),
    ("thread", "name", BAD, {"name": "t" * 101}, {"name": "t" * 100}),
    (
        "thread",
        "auto_archive_duration",
        OTHER,
        {"name": "t", "auto_archive_duration": 61},
        {"name": "t", "auto_archive_duration": 60},
    ),
    (
        "thread",
        "rate_limit_per_user",
        LOW,
        {"name": "t", "rate_limit_per_user": -1},
        {"name": "t", "rate_limit_per_user": 0},
    ),
    (
        "thread",
        "rate_limit_per_user",
        HIGH,
        {"name": "t", "rate_limit_per_user": 21601},
        {"name": "t", "rate_limit_per_user": 21600},
    ),
    ("page", "limit", LOW, {"limit": "0"}, {"limit": "1"}),
    ("page", "limit", HIGH, {"limit": "101"}, {"limit": "100"}),
    ("direct", "recipient_id", MISSING, {}, {"recipient_id": "7"}),
    ("direct", "recipient_id", NO_ID, {"recipient_id": "Ada"}, {"recipient_id": "7"}),
    ("callback", "type", MISSING, {}, {"type": 5}),
    ("callback", "type", OTHER, {"type": 11}, {"type": 4, "data": {"content": "x"}}),
    ("callback to a command", "type", OTHER, {"type": 6}, {"type": 5}),
)
COMMANDS: Sequence[Case] = (
    (
        "commands",
        "",
        "APPLICATION_COMMANDS_DUPLICATE_NAME",
        [{"name": "do", "description": "Does"}] * 2,
        [{"name": "do", "description": "Does"}, {"name": "do", "type": 3}],
    ),
    ("command", "name", MISSING, {"name": None}, {}),
    ("command", "type", OTHER, {"type": 5}, {"type": 1}),
    (
        "command",
        "options",
        LONG,
        options_of(*(option(name=f"o{n}") for n in range(26))),
        options_of(*(option(name=f"o{n}") for n in range(25))),
    ),
    (
        "command",
        "options",
        "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        options_of(option(), option(name="more", required=True)),
        options_of(option(required=True), option(name="more")),
    ),
    (
        "command",
        "options",
        "APPLICATION_COMMAND_OPTIONS_NAME_INVALID",
        options_of(option(), option()),
        options_of(option(), option(name="more")),
    ),
    ("command", "options[].name", MISSING, options_of(without(option(), "name")), options_of(option())),
    ("command", "options[].name", BAD_NAME, options_of(option(name="Text")), options_of(option(name="文字"))),
    ("command", "options[].description", MISSING, options_of(without(option(), "description")), {}),
    (
        "command",
        "options[].description",
        BAD,
        options_of(option(description="d" * 101)),
        options_of(option(description="d" * 100)),
    ),
    ("command", "options[].type", OTHER, options_of(option(type=12)), options_of(option(type=11))),
    ("command", "options[].choices", LONG, choices(26), choices(25)),
    ("command", "options[].choices[].name", BAD, choices(1, name="n" * 101), choices(1, name="n" * 100)),
    ("command", "options[].choices[].value", LONG, choices(1, value="v" * 101), choices(1, value="v" * 100)),
    ("command", "", "APPLICATION_COMMAND_TOO_LARGE", sized(8001), sized(8000)),
    ("slash", "name", BAD_NAME, {"name": "n" * 33}, {"name": "n" * 32}),
    ("slash", "description", MISSING, {"description": None}, {}),
    ("slash", "description", BAD, {"description": "d" * 101}, {"description": "d" * 100}),
    (
        "menu",
        "name",
        BAD,
        {"type": 3, "name": "N" * 33, "description": ""},
        {"type": 3, "name": "Ask Roebot " + "n" * 21, "description": ""},
    ),
    ("menu", "description", LONG, {"type": 2, "name": "Ask"}, {"type": 2, "name": "Ask", "description": ""}),
)
CASES = (*MESSAGES, *LAYOUTS, *PARTS, *FORMS, *COMMANDS)


def all_rules() -> Iterator[tuple[str, FormRule]]:
    tables = {
        **TABLES,
        "legacy": LEGACY,
        "layout": LAYOUT,
        "callback": CALLBACK,
        "callback to a command": FOR_COMPONENTS,
        **{str(kind): rules for kind, rules in COMPONENTS.items() if kind not in (5, 6, 7, 8)},
    }
    for table, rules in tables.items():
        for one in rules:
            yield table, one


def test_every_rule_has_a_case() -> None:
    """Menus of people, roles and channels (5 to 8) have the rules of the menu of texts (3)."""
    covered = Counter(case[:3] for case in CASES)
    assert covered == Counter((table, one.path, one.code) for table, one in all_rules())
    assert all(one.source for _, one in all_rules())
    assert set(COMPONENTS[5]) <= set(COMPONENTS[3])


@pytest.fixture
async def emulator() -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator.serve(limits=False) as running:
        yield running


async def send(table: str, body: Body, emulator: DiscordEmulator, api: httpx.AsyncClient) -> httpx.Response:
    """Make the call that a table's rules are about."""
    people, app = emulator.people, emulator.world.bot.id
    if table in ("commands", "command", "slash", "menu"):
        commands = body if table == "commands" else [{"name": "do", "description": "Does", **body}]
        return await api.put(f"/applications/{app}/commands", json=commands)
    if table.startswith("callback"):
        number = people.uses("status")
        token = next(reversed(emulator.world.interactions))
        return await api.post(f"/interactions/{number}/{token}/callback", json=body)
    if table == "direct":
        people.dm(7)
        return await api.post("/users/@me/channels", json=body)
    if table == "page":
        return await api.get(f"/channels/{people.dm()}/messages", params=body)
    if table == "thread":
        chat = people.make_group()
        people.permits(chat, ["CREATE_PUBLIC_THREADS"])
        asked = people.says("hi", chat=chat)
        return await api.post(f"/channels/{chat}/messages/{asked.id}/threads", json=body)
    path = f"/channels/{people.dm()}/messages"
    if "attachments" in body:
        file = {"files[0]": ("a.txt", b"a", "text/plain")}
        return await api.post(path, data={"payload_json": json.dumps(body)}, files=file)
    return await api.post(path, json=message_with(table, body))


def message_with(table: str, body: Body) -> Body:
    """Return the message of which a body is a part."""
    if table == "layout":
        return {**body, "flags": IS_COMPONENTS_V2}
    if table in ("message", "legacy"):
        return {"content": "x", **body}
    inner = row(body) if body.get("type") in (BUTTON, MENU) else body
    flags = 0 if inner["type"] == ROW else IS_COMPONENTS_V2
    return {"content": None if flags else "x", "components": [inner], "flags": flags}


def found_in(errors: Any, at: str = "") -> Iterator[tuple[str, str, str]]:
    for key, value in errors.items():
        if key == "_errors":
            yield from ((at, one["code"], one["message"]) for one in value)
        else:
            yield from found_in(value, f"{at}.{key}" if at else key)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} {case[2]}")
async def test_a_rule_refuses_what_breaks_it(
    case: Case, emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    table, path, code, broken, exact = case
    refused = await send(table, broken, emulator, api)
    assert (refused.status_code, refused.json()["code"]) == (400, 50035)
    assert refused.json()["message"] == "Invalid Form Body"
    place = re.compile(path.replace("[]", r"\.\d+"))
    found = [
        text for at, name, text in found_in(refused.json()["errors"]) if name == code and place.search(at)
    ]
    texts = [one.text for name, one in all_rules() if (name, one.path, one.code) == case[:3]]
    patterns = [re.escape(text).replace(r"\{value\}", ".*") for text in texts]
    assert any(re.fullmatch(pattern, text) for pattern in patterns for text in found)
    passed = await send(table, exact, emulator, api)
    assert passed.status_code < 300, passed.text
