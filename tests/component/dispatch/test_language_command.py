"""`/language`: the language of the person comes before that of the chat, and both before the account's."""

from __future__ import annotations

import pytest

from bot.domain import ChatKind
from bot.languages import Languages
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_thread_commands import says

ENGLISH, CHINESE = "My notices and replies to your commands are in English.", "我用中文向你发送系统消息。"


async def heard(at: Bench, text: str, *, person: str) -> str:
    """What is answered to a person in a group."""
    shown = len(at.adapter.texts("g1"))
    await at.adapter.hears(text, chat="g1", person=person, kind=ChatKind.GROUP)
    await at.until(lambda: len(at.adapter.texts("g1")) > shown)
    await at.rest(0.2)
    return at.adapter.texts("g1")[-1]


async def test_a_person_chooses_for_themselves(at: Bench) -> None:
    async with at.running():
        assert (await says(at, "/language")).startswith(ENGLISH)
        assert await says(at, "/language zh") == "已改用中文向你发送系统消息。"
        assert (await says(at, "/language")).startswith(CHINESE)
        assert (await says(at, "/nothing")).startswith("没有")
        restored = await says(at, "/language default")
        assert restored == "From now on, my notices and replies to your commands are in English."
        assert (await says(at, "/language")).startswith(ENGLISH)


async def test_the_person_comes_before_the_group_and_the_group_before_the_account(at: Bench) -> None:
    async with at.running():
        assert (await heard(at, "/language here zh", person="7")).startswith("已改用中文在本群")
        assert (await heard(at, "/language", person="8")).startswith(CHINESE)
        await heard(at, "/language en", person="8")
        assert (await heard(at, "/language", person="8")).startswith(ENGLISH)
        assert (await heard(at, "/language", person="7")).startswith(CHINESE)
        assert (await says(at, "/language")).startswith(ENGLISH), "a private chat is not that group"
        at.locale = "zh"
        assert (await says(at, "/language")).startswith(CHINESE)
        await heard(at, "/language here en", person="7")
        assert (await heard(at, "/language", person="7")).startswith(ENGLISH)


async def test_the_default_of_a_person_in_a_group_is_the_language_of_the_group(at: Bench) -> None:
    async with at.running():
        await heard(at, "/language here zh", person="7")
        await heard(at, "/language en", person="8")
        assert await heard(at, "/language default", person="8") == "已改用中文向你发送系统消息。"
        assert (await heard(at, "/language", person="8")).startswith(CHINESE)
        await heard(at, "/language zh", person="8")
        restored = await heard(at, "/language here default", person="8")
        assert restored.startswith("已改用英文在本群"), "the default of the group is that of the account"


async def test_here_in_a_private_chat_is_the_person(at: Bench) -> None:
    async with at.running():
        assert await says(at, "/language here 中文") == "已改用中文向你发送系统消息。"
        assert (await heard(at, "/language", person="7")).startswith(CHINESE)


@pytest.mark.parametrize("text", ["/language fr", "/language here fr", "/language en zh"])
async def test_a_language_that_is_unknown_changes_nothing(at: Bench, text: str) -> None:
    async with at.running():
        assert (await says(at, text)).startswith("Available languages: `en`, `zh`")
        assert (await says(at, "/language")).startswith(ENGLISH)


async def test_choices_survive_a_restart(at: Bench) -> None:
    async with at.running():
        await says(at, "/language zh")
        await heard(at, "/language here zh", person="8")
    again = Languages(at.db)
    assert again.find("recording:7", "rec:g1") == ""
    await again.load_languages()
    assert again.get("recording:7") == again.find("recording:8", "rec:g1") == "zh"


async def test_the_agent_is_told_the_language(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await says(at, "/language zh")
        await says(at, "What is a roe deer?")
    [run] = at.runtime.runs.values()
    assert run.request.configurable["locale"] == "zh"


async def test_what_cannot_be_accepted_is_said_in_it(at: Bench) -> None:
    async with at.running():
        await says(at, "/language zh")
        assert "\u6d88\u606f" in await says(at, " ")


@pytest.mark.parametrize(
    ("locale", "text", "begins"),
    [
        ("zh-Hant-TW", "/language", CHINESE),
        ("zh_CN", "/language", CHINESE),
        ("ZH", "/language", CHINESE),
        ("zhx", "/language", ENGLISH),
        ("de", "/language", ENGLISH),
        ("en", "你好", ENGLISH),
        ("", "帮我看一下 https://example.org/ 的 CPU", CHINESE),
        ("", "“你好”", CHINESE),
        ("", "/stop 你好", CHINESE),
        ("", "translate: 你好", ENGLISH),
        ("", "東京の天気", ENGLISH),
        ("", "天氣 날씨", ENGLISH),
    ],
)
async def test_the_language_is_that_of_the_app_or_the_words(
    at: Bench, locale: str, text: str, begins: str
) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears(text, locale=locale)
        await at.until(lambda: at.adapter.texts("c1"))
        await at.rest(0.2)
        assert (await says(at, "/language")).startswith(begins)


async def test_a_choice_comes_before_the_app_and_the_app_before_the_account(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("/language here en", chat="g1", kind=ChatKind.GROUP, locale="zh")
        await at.until(lambda: at.adapter.texts("g1"))
        assert (await heard(at, "/language", person="7")).startswith(ENGLISH), "that was chosen for the group"
        assert (await says(at, "/language")).startswith(CHINESE)
        await says(at, "/language en")
        assert (await says(at, "/language")).startswith(ENGLISH)
        at.locale = "zh"
        await at.adapter.hears("/language default", locale="en-US")
        assert (await says(at, "/language")).startswith(ENGLISH), "also that of the app"
    again = Languages(at.db)
    await again.load_languages()
    assert (again.get("recording:7"), again.find("recording:7", "")) == ("", "en")
