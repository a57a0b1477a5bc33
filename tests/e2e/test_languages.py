"""The service's first text is in the person's language, before they send any command."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.texts import texts_for
from tests.harness.inprocess_service import config_text, scripted_runtime, serviced
from tests.harness.waiters import until
from tests.harness.wires import WIRES
from tests.platforms.web.serving import world

pytestmark = pytest.mark.may_block
FIRST = texts_for("zh")("pair_code", code="", minutes=0)[:9]
CHINESE, ENGLISH = "我用中文", "My notices"


@pytest.mark.parametrize(
    ("platform", "locale", "words"),
    [
        ("telegram", {"language_code": "zh-hans"}, "hello"),
        ("telegram", {}, "你好，帮我看一下 CPU"),
        ("slack", {"locale": "zh-CN"}, "hello"),
        # These platforms report no locale with a message.
        ("discord", {"locale": "zh-CN"}, "你好，帮我看一下 CPU"),
        ("feishu", {}, "你好，帮我看一下 CPU"),
    ],
)
async def test_a_person_without_access_reads_their_language(
    tmp_path: Path, platform: str, locale: dict[str, str], words: str
) -> None:
    async with scripted_runtime(tmp_path) as runtime, WIRES[platform].serve() as wire:
        config = config_text(runtime, {platform: wire.entry}, access="default: pair")
        async with serviced(tmp_path, config):
            await until(wire.connected, 20.0, lambda: "not connected")
            number = wire.person(1)
            for name, value in locale.items():
                setattr(wire.emulator.world.user(number if platform == "slack" else int(number)), name, value)
            place = wire.asks(words)
            await until(lambda: wire.standing(place), 20.0, lambda: "no answer")
            assert wire.standing(place)[0].text.startswith(FIRST)


async def test_a_discord_command_sets_the_language_of_later_messages(tmp_path: Path) -> None:
    async with (
        scripted_runtime(tmp_path) as runtime,
        WIRES["discord"].serve() as wire,
        serviced(tmp_path, config_text(runtime, {"discord": wire.entry})),
    ):
        await until(wire.connected, 20.0, lambda: "not connected")
        user, people = int(wire.person(1)), wire.emulator.people
        wire.emulator.world.user(user).locale = "zh-CN"
        place = str(people.dm(user))
        people.uses("language", user=user)
        await until(lambda: len(wire.standing(place)) == 1, 20.0, lambda: f"{wire.standing(place)}")
        wire.asks("/language")
        await until(lambda: len(wire.standing(place)) == 2, 20.0, lambda: f"{wire.standing(place)}")
        assert all(one.text.startswith(CHINESE) for one in wire.standing(place))


async def test_a_browser_reports_its_language(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        for header, begins in {
            "fr, *;q=0.5": ENGLISH,
            "zh-CN,zh;q=0.9,en;q=0.8": CHINESE,
            "en-GB,zh;q=0.5": ENGLISH,
            "fr-FR,fr;q=0.9,zh-TW;q=0.8": CHINESE,
        }.items():
            service.http.headers["accept-language"] = header
            posted = await service.say(conversation, "/language")
            [part, *_] = (await service.turn(posted["turn"]))["parts"]
            assert part["text"].startswith(begins), header
