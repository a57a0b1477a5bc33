"""Commands in messages that call the bot by name, in ways that its platform does not know."""

from __future__ import annotations

import pytest

from bot.app.features import installed_commands
from bot.commands.registry import Parsed, split_command, text_after


@pytest.mark.parametrize("mentioned", [True, False])
@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("/roebot", "help", ()),
        ("/roebot help", "help", ()),
        ("/Roebot@my_bot /help new", "help", ("new",)),
        ("/roebot model gpt", "model", ("gpt",)),
        ("/roebot title which has many more words than a title after a mention may have", "title", ()),
        ("/roebot approve 12", "approve", ("12",)),
        ("/roebot summarize this", "summarize", ("this",)),
        ("/roebot ask why?", "ask", ("why?",)),
        ("@bot help", "help", ()),
        ("@Bot: help", "help", ()),
        ("@roebot /model gpt", "model", ("gpt",)),
        ("@roebot，status", "status", ()),
        ("@bot announce: Down at noon", "announce", ("Down", "at", "noon")),
        ("@bot /roebot_x", "roebot_x", ()),
        ("@bot /roebot status", "status", ()),
    ],
)  # fmt: skip
def test_a_call(text: str, name: str, words: tuple[str, ...], mentioned: bool) -> None:
    parsed = installed_commands().parse(text, mentioned=mentioned)
    assert parsed is not None
    assert parsed.name == name
    assert not words or parsed == Parsed(name, words)


@pytest.mark.parametrize(
    "text",
    [
        "@bot",
        "@bot what is new?",
        "@bot status of the deployment",
        "@bots help",
        "@roebot's help",
        "write to @bot help",
        "roebot help",
        "@bot ask why?",
    ],
)
def test_a_message_for_the_agent(text: str) -> None:
    assert installed_commands().parse(text, mentioned=False) is None


def test_the_text_of_a_command_is_what_follows_its_name() -> None:
    assert text_after("/roebot compact keep  the numbers") == "keep  the numbers"
    assert text_after("@bot announce: Down  at noon") == "Down  at noon"
    assert split_command("/roebot summarize this  page") == ("summarize", "this  page")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/roebot help", True),
        ("/roebot", True),
        ("/roebot nonsense", False),
        ("/help", False),
        ("@bot help", False),
        ("/roebots help", False),
        ("/roebot@other_bot help", False),
        ("see /roebot help", False),
    ],
)
def test_only_its_own_slash_command_calls_the_bot_in_a_group(text: str, found: bool) -> None:
    assert installed_commands().is_call(text) is found
