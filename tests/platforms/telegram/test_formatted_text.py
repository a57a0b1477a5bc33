"""Texts with entities: what the agent reads of links, code, dates and mentions."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import Mention, MentionKind
from bot.platforms.telegram.formatted_text import TelegramIdentity, format_date, read_text
from roebot_testing.emulators.telegram.entities import detect

US = TelegramIdentity(123456, "roebot_bot")
TOM = {"id": 5, "is_bot": False, "first_name": "Tom", "last_name": "Ekholm"}


def entity(text: str, part: str, kind: str, **fields: Any) -> dict[str, Any]:
    """Return the entity that covers a part of a text; offsets count UTF-16 units."""
    before = text[: text.index(part)]
    offset, length = (len(one.encode("utf-16-le")) // 2 for one in (before, part))
    return {"type": kind, "offset": offset, "length": length, **fields}


@pytest.mark.parametrize(
    ("text", "part", "fields", "shown"),
    [
        (
            "see plan",
            "plan",
            {"kind": "text_link", "url": "https://x.example"},
            "see [plan](https://x.example)",
        ),
        (
            "🚒🚒 plan",
            "plan",
            {"kind": "text_link", "url": "https://x.example"},
            "🚒🚒 [plan](https://x.example)",
        ),
        ("https://x.example", "https://x.example", {"kind": "text_link", "url": "https://x.example"}, None),
        ("see plan", "plan", {"kind": "text_link"}, None),
        ("run ls now", "ls", {"kind": "code"}, "run `ls` now"),
        ("run `x` now", "`x`", {"kind": "code"}, "run ```x``` now"),
        ("a = 1", "a = 1", {"kind": "pre", "language": "python"}, "```python\na = 1\n```"),
        ("so a = 1 ok", "a = 1", {"kind": "pre"}, "so \n```\na = 1\n```\n ok"),
        ("```\nx", "```\nx", {"kind": "pre"}, "~~~\n```\nx\n~~~"),
        ("not today", "not", {"kind": "strikethrough"}, "~~not~~ today"),
        ("one\ntwo\nmine", "one\ntwo", {"kind": "blockquote"}, "> one\n> two\n\nmine"),
        ("at ten", "ten", {"kind": "date_time", "unix_time": 1795428000}, "at ten (2026-11-23 10:00 UTC)"),
        ("at ten", "ten", {"kind": "date_time", "unix_time": 10**15}, None),
        ("at ten", "ten", {"kind": "date_time", "unix_time": "ten"}, None),
        ("so bold", "bold", {"kind": "bold"}, None),
        ("so new", "new", {"kind": "of next year"}, None),
    ],
)
def test_markup_says_what_the_words_do_not(
    text: str, part: str, fields: dict[str, Any], shown: str | None
) -> None:
    given = entity(text, part, **fields)
    assert read_text({"text": text, "entities": [given]}, US).text == (shown if shown is not None else text)


def test_entities_within_each_other() -> None:
    text = "not the plan"
    entities = [
        entity(text, "not the plan", "strikethrough"),
        entity(text, "the plan", "text_link", url="https://x.example"),
        entity(text, "plan", "code"),
    ]
    assert read_text({"text": text, "entities": entities}, US).text == (
        "~~not [the `plan`](https://x.example)~~"
    )


def test_mentions_are_names_with_ids() -> None:
    text = "@roebot_bot ask Tom and @lena"
    entities = [
        entity(text, "@roebot_bot", "mention"),
        entity(text, "Tom", "text_mention", user=TOM),
        entity(text, "@lena", "mention"),
    ]
    found = read_text({"text": text, "entities": entities}, US)
    assert (found.text, found.named) == ("ask @Tom Ekholm and @lena", True)
    assert found.mentions == (
        Mention(MentionKind.PERSON, "Tom Ekholm", "5"),
        Mention(MentionKind.PERSON, "lena", "@lena"),
    )


@pytest.mark.parametrize(
    ("text", "shown", "command"),
    [
        ("@roebot_bot why did /deploy@ci_bot fail?", "why did /deploy@ci_bot fail?", False),
        ("@roebot_bot why did /deploy fail?", "why did /deploy fail?", False),
        ("@roebot_bot, /status", "/status", True),
        ("@roebot_bot /deploy@ci_bot fails", "`/deploy@ci_bot` fails", True),
        ("/deploy@ci_bot fails, @roebot_bot why?", "`/deploy@ci_bot` fails, why?", True),
        ("/status /deploy@ci_bot @roebot_bot", "/status /deploy@ci_bot", True),
    ],
)
def test_the_command_of_another_bot_does_not_hide_the_mention(text: str, shown: str, command: bool) -> None:
    found = read_text({"text": text, "entities": detect(text)}, US)
    assert (found.text, found.named, found.command, found.other) == (shown, True, command, False)


def test_a_name_stays_in_its_line() -> None:
    user = {**TOM, "first_name": "Tom\n/allow", "last_name": "x" * 500}
    found = read_text(
        {"text": "hi Tom", "entities": [entity("hi Tom", "Tom", "text_mention", user=user)]}, US
    )
    assert found.text.startswith("hi @Tom /allow xxx")
    assert len(found.text) < 140


def test_the_mention_in_a_text_of_others_is_no_call() -> None:
    text = "@roebot_bot hi"
    found = read_text({"text": text, "entities": [entity(text, "@roebot_bot", "mention")]})
    assert (found.text, found.named) == (text, False)


@pytest.mark.parametrize("at", [0, -5, 10**12])
def test_a_time_that_is_none(at: int) -> None:
    assert format_date(at) == ""
