"""The app that a person creates by scanning a code, with the SDK's own flow against the emulator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.cli.init.qr_code import draw_code
from bot.errors import AccountLost, AccountRefused
from bot.platforms.feishu.manifest import EVENTS, SCOPES
from bot.platforms.feishu.setup import SETUP
from bot.platforms.setup import CreatesApp
from roebot_testing.emulators.feishu import FeishuEmulator

pytestmark = pytest.mark.may_block


@pytest.fixture
async def emulator(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FeishuEmulator]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with FeishuEmulator.serve() as running:
        running.registration.interval = 0.05
        yield running


async def test_an_app_with_our_scopes_events_and_callbacks(emulator: FeishuEmulator) -> None:
    links: list[str] = []

    def scan(link: str, seconds: float) -> None:
        links.append(link)
        assert seconds == 600
        emulator.confirm_app(link, user="ou_owner000000000001")

    assert isinstance(SETUP, CreatesApp)
    created = await SETUP.create_app("Helper", emulator.url, scan)
    assert created.settings == {"app_id": emulator.app_id, "app_secret": emulator.app_secret}
    assert created.owner == "ou_owner000000000001"
    assert emulator.app_secret not in repr(created)
    [request] = emulator.registration.created
    assert request.name == "Helper"
    assert request.addons == {
        "scopes": {"tenant": [scope for scope, _ in SCOPES if scope != "im:message.group_msg"]},
        "events": {"items": {"tenant": [event for event, _ in EVENTS]}},
        "callbacks": {"items": ["card.action.trigger"]},
    }
    assert emulator.world.scopes == {scope for scope, _ in SCOPES} - {"im:message.group_msg"}
    query = parse_qs(urlsplit(links[0]).query)
    assert query["createOnly"] == ["true"], "another program's app is not taken over"
    assert draw_code(links[0], 80), "its QR code fits into a usual terminal"


async def test_an_organization_on_lark(emulator: FeishuEmulator) -> None:
    def scan(link: str, seconds: float) -> None:
        emulator.confirm_app(link, brand="lark")

    created = await SETUP.create_app("Roebot", emulator.url, scan)
    assert created.settings["domain"] == "lark"


async def test_a_person_who_declines(emulator: FeishuEmulator) -> None:
    with pytest.raises(AccountRefused, match="was declined"):
        await SETUP.create_app("Roebot", emulator.url, lambda link, _: emulator.decline_app(link))


async def test_a_code_that_expires(emulator: FeishuEmulator) -> None:
    with pytest.raises(AccountLost, match="code has expired"):
        await SETUP.create_app("Roebot", emulator.url, lambda *_: emulator.expire_codes())


async def test_a_server_out_of_reach() -> None:
    with pytest.raises(AccountLost, match="cannot reach Feishu"):
        await SETUP.create_app("Roebot", "http://127.0.0.1:9", lambda *_: None)


async def test_a_server_that_is_none_of_feishus(emulator: FeishuEmulator) -> None:
    with pytest.raises(AccountLost, match="unexpected response from Feishu's app registration"):
        await SETUP.create_app("Roebot", f"{emulator.url}/_emulator/transcript?", lambda *_: None)
