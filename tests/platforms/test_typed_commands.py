"""Texts name commands as people type them on each platform."""

from __future__ import annotations

import pytest

from bot.platforms.discord.manifest import MANIFEST as DISCORD
from bot.platforms.feishu.manifest import MANIFEST as FEISHU
from bot.platforms.local.manifest import WEB
from bot.platforms.slack.manifest import MANIFEST as SLACK
from bot.platforms.telegram.manifest import MANIFEST as TELEGRAM
from bot.texts import Texts, TypedCommands, texts_for

MANIFESTS = {one.platform: one for one in (SLACK, TELEGRAM, DISCORD, FEISHU, WEB)}


def texts_in(platform: str, kind: str, topic: str = "", bot: str = "@robo") -> Texts:
    """Return the texts for a chat of a platform."""
    commands = TypedCommands(MANIFESTS[platform].commands, bot)
    return texts_for("en", lambda: commands).in_chat(kind, topic)


@pytest.mark.parametrize(
    ("platform", "kind", "topic", "found"),
    [
        ("telegram", "private", "1", "/status"),
        ("telegram", "group", "", "/status@robo"),
        ("telegram", "group", "1", "/status@robo"),
        ("slack", "private", "", "/roebot status"),
        ("slack", "group", "", "/roebot status"),
        ("slack", "private", "1.2", "@robo /status"),
        ("slack", "group", "1.2", "@robo /status"),
        ("discord", "private", "", "/status"),
        ("discord", "group", "", "/status"),
        ("feishu", "private", "", "/status"),
        ("feishu", "group", "", "@robo /status"),
        ("web", "private", "", "/status"),
    ],
)
def test_commands_are_named_as_they_are_typed_on_the_platform(
    platform: str, kind: str, topic: str, found: str
) -> None:
    text = texts_in(platform, kind, topic)("digest_named_unknown", chat="`/status`")
    assert f"`{found}`" in text.partition("on this account")[2]
    assert "chat `/status` on" in text, "words of a person stay as they are"


@pytest.mark.parametrize(
    ("platform", "kind", "topic", "found"),
    [
        ("telegram", "group", "", "/status"),
        ("slack", "group", "1.2", "@bot /status"),
        ("feishu", "group", "", "@bot /status"),
    ],
)
def test_before_the_first_connection_the_name_of_the_bot_is_unknown(
    platform: str, kind: str, topic: str, found: str
) -> None:
    assert texts_in(platform, kind, topic, bot="").command("status") == found


@pytest.mark.parametrize(
    ("platform", "kind", "found"),
    [
        ("discord", "private", "/summarize TEXT"),
        ("discord", "group", "@robo /summarize TEXT"),
        ("slack", "group", "/roebot summarize TEXT"),
        ("telegram", "group", "/summarize@robo TEXT"),
    ],
)
def test_a_skill_is_in_no_menu(platform: str, kind: str, found: str) -> None:
    assert texts_in(platform, kind).command("summarize TEXT") == found
    skill = texts_in(platform, kind)("skill_on", name="summarize", command="summarize")
    assert f"`{found.removesuffix(' TEXT')}`" in skill


def test_a_name_cannot_end_the_code_that_shows_it() -> None:
    assert texts_in("feishu", "group", bot="ro`bo").command("new") == "@ro'bo /new"


@pytest.mark.parametrize(
    ("platform", "topic", "found"),
    [
        ("discord", "", "`/approve 7` or `/reject 7`"),
        ("slack", "", "`/roebot approve 7` or `/roebot reject 7`"),
        ("slack", "1.2", "`approve 7` or `reject 7`"),
    ],
)
def test_decisions_in_a_slack_thread_need_no_slash(platform: str, topic: str, found: str) -> None:
    assert found in texts_in(platform, "group", topic)("approval_code", number=7, hours=24)


def test_an_example_of_a_decision_is_one() -> None:
    assert "`reject 12`" in texts_in("slack", "group", "1.2")("approval_several", command="reject")


def test_commands_for_the_web_console_and_routes_are_not_rewritten() -> None:
    slack = texts_in("slack", "private")
    assert "`/roebot pair X`" in slack("pair_code", code="X", minutes=60)
    assert "`/pair X owner`" in slack("pair_code", code="X", minutes=60)
    assert "`GET /api/people/…/data`" in slack("data_too_large", megabytes=3)
