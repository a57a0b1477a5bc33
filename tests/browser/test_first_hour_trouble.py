"""Troubles while an account is connected in the web console: a sentence, its remedy, nothing written."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import Browser, expect

from agent.config.secrets_file import read_secrets
from roebot_testing.emulators.base import Emulator
from tests.browser.setting_up import KEYS, SECRETS, Owner, Planted, look_everywhere, new_service, owner_at
from tests.harness.wires import WIRES

pytestmark = [pytest.mark.browser, pytest.mark.may_block, pytest.mark.timeout(400)]
TOGETHER = 20.0
"""Seconds that a check waits for a platform."""


@dataclass(frozen=True)
class Trouble:
    """One thing that goes wrong: `entered` are kinds of secrets that are typed in place of the right ones.

    `english` and `chinese` are what is said of it: what is wrong, and the remedy.
    """

    platform: str
    english: tuple[str, str]
    chinese: tuple[str, str]
    entered: Mapping[str, str]
    at: str
    """The field below which it is said."""
    arrange: Callable[[Any], object] = lambda emulator: None
    is_accepted: bool = False


def _lose_scope(name: str) -> Callable[[Any], object]:
    def lose(emulator: Any) -> None:
        emulator.world.app_scopes = "connections:write"
        emulator.world.scopes = ",".join(one for one in emulator.world.scopes.split(",") if one != name)

    return lose


def _lose_app_scope(emulator: Any) -> None:
    emulator.world.app_scopes = ""


def _lose_intent(emulator: Any) -> None:
    emulator.gateway.content_allowed = False


def _is_no_bot(emulator: Any) -> None:
    emulator.fault("error", method="bot.info", times=-1, status=400)


TROUBLES = (
    Trouble(
        "telegram",
        ("Telegram refuses the token of account telegram", "@BotFather shows the current one"),
        ("Telegram 拒绝了账号 telegram 的令牌", "请在 @BotFather 中查看当前令牌"),
        {"bot_token": "telegram.bot_token"},
        "bot_token",
    ),
    Trouble(
        "telegram",
        ("expected the token exactly as @BotFather sent it", "digits, a colon"),
        ("请原样粘贴 @BotFather 给出的令牌", "数字、冒号"),
        {"bot_token": "an address"},
        "bot_token",
    ),
    Trouble(
        "telegram",
        ("expected text without spaces or line ends", "copy the value again"),
        ("不能包含空格或换行", "请重新复制"),
        {"bot_token": "a sentence"},
        "bot_token",
    ),
    Trouble(
        "slack",
        ("Slack refuses the bot_token of account slack", "install the app again"),
        ("Slack 拒绝了账号 slack 的机器人令牌", "请在 Install App 页面重新安装应用"),
        {"bot_token": "slack.bot_token"},
        "app_token",
    ),
    Trouble(
        "slack",
        ("Slack refuses the app_token of account slack", "generate one with connections:write"),
        ("Slack 拒绝了账号 slack 的应用级令牌", "生成带 connections:write 的令牌"),
        {"app_token": "slack.app_token"},
        "app_token",
    ),
    Trouble(
        "slack",
        ("expected the bot token (xoxb-…)", "this is the app-level token"),
        ("这里应填写机器人令牌", "你填写的是应用级令牌"),
        {"bot_token": "slack.app_token"},
        "bot_token",
    ),
    Trouble(
        "slack",
        ("expected the app-level token (xapp-…)", "this is a bot or user token"),
        ("这里应填写应用级令牌", "你填写的是机器人或用户令牌"),
        {"app_token": "slack.bot_token"},
        "app_token",
    ),
    Trouble(
        "slack",
        ("(missing_scope)", "generate one with connections:write"),
        ("missing_scope", "生成带 connections:write 的令牌"),
        {},
        "app_token",
        _lose_app_scope,
    ),
    Trouble(
        "slack",
        ("Accepted: ", "the app lacks the scopes files:read: add them on OAuth & Permissions"),
        ("验证通过：", "应用缺少权限 files:read：请在 OAuth & Permissions 页面添加"),
        {},
        "app_token",
        _lose_scope("files:read"),
        is_accepted=True,
    ),
    Trouble(
        "slack",
        ("lacks the scope chat:write", "add it on OAuth & Permissions and install the app again"),
        ("缺少权限 chat:write", "请在 OAuth & Permissions 页面添加它"),
        {},
        "app_token",
        _lose_scope("chat:write"),
    ),
    Trouble(
        "feishu",
        ("Feishu refuses app id or secret of account feishu", "under Credentials & Basic Info"),
        ("飞书拒绝了账号 feishu 的 App ID 或 App Secret", "请在开发者后台的「凭证与基础信息」中查看"),
        {"app_secret": "feishu.app_secret"},
        "app_secret",
    ),
    Trouble(
        "feishu",
        ("Feishu refuses app id or secret of account feishu", "under Credentials & Basic Info"),
        ("飞书拒绝了账号 feishu 的 App ID 或 App Secret", "请在开发者后台的「凭证与基础信息」中查看"),
        {"app_id": "feishu.app_secret"},
        "app_secret",
    ),
    Trouble(
        "feishu",
        ("does not let account feishu act as a bot", "add the feature Bot to the app"),
        ("账号 feishu 的应用还不是机器人", "请为应用添加「机器人」能力"),
        {},
        "app_secret",
        _is_no_bot,
    ),
    Trouble(
        "discord",
        ("Discord refuses the token of account discord", "gives a new one (page Bot, Reset Token)"),
        ("Discord 拒绝了账号 discord 的令牌", "点击 Reset Token 获取新令牌"),
        {"bot_token": "discord.bot_token"},
        "bot_token",
    ),
    Trouble(
        "discord",
        ("Discord refuses the token of account discord", "gives a new one (page Bot, Reset Token)"),
        ("Discord 拒绝了账号 discord 的令牌", "点击 Reset Token 获取新令牌"),
        {"bot_token": "feishu.app_secret"},
        "bot_token",
    ),
    Trouble(
        "discord",
        ("the Message Content Intent", "switch it on in the developer portal"),
        ("没有给账号 discord Message Content Intent", "请在开发者后台 Bot 页面"),
        {},
        "bot_token",
        _lose_intent,
    ),
)


@contextmanager
def silent_host() -> Iterator[str]:
    """The address of a host that takes connections and never answers."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        yield f"http://127.0.0.1:{silent.getsockname()[1]}"


AROUND = {"a sentence": "the token is {}", "an address": "https://api.telegram.org/bot{}/getMe"}
"""What people copy together with a token."""


class Form:
    """The form of one platform, with its emulator and what is right there."""

    def __init__(self, owner: Owner, platform: str, emulator: Emulator, planted: Planted) -> None:
        self.owner, self.platform, self.emulator, self.planted = owner, platform, emulator, planted
        self.english = True
        self.wrong: list[tuple[str, ...]] = []

    def right(self, key: str) -> str:
        return str(getattr(self.emulator, key, "") or getattr(self.emulator, key.removeprefix("bot_")))

    def made(self, kind: str) -> str:
        token = self.planted.make("telegram.bot_token" if kind in AROUND else kind)
        return AROUND.get(kind, "{}").format(token)

    async def fill(self, entered: Mapping[str, str], last: str = "") -> None:
        for key in KEYS[self.platform]:
            await self.owner.input(key).fill(self.made(entered[key]) if key in entered else self.right(key))
            if key == last:
                break

    async def meets(self, trouble: Trouble) -> None:
        trouble.arrange(self.emulator)
        await self.owner.begins(self.platform, str(self.emulator.url))
        await self.fill(trouble.entered, trouble.at)
        said = await self.owner.reads(trouble.at, ".accepted" if trouble.is_accepted else ".problem")
        self.expects(said, *(trouble.english if self.english else trouble.chinese))
        assert await self.owner.input(trouble.at).input_value(), "what was entered is still there"

    def expects(self, said: str, *words: str) -> None:
        """Note what was said otherwise."""
        is_ended = said.endswith("." if self.english else "。")
        if not (is_ended and all(word in said for word in words)):
            self.wrong.append((said, *words))

    async def meets_no_host(self, url: str, *words: str) -> None:
        kinds = {key: f"{self.platform}.{key}" for key in KEYS[self.platform] if key != "app_id"}
        await self.owner.begins(self.platform, url)
        await self.fill(kinds)
        said = await self.owner.reads(KEYS[self.platform][-1])
        self.expects(said, *words)


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
async def test_each_trouble_is_said_with_its_remedy(browser: Browser, tmp_path: Path, locale: str) -> None:
    planted, folder = Planted(), tmp_path / "empty"
    english = locale == "en-GB"
    retry = "check the network and try again" if english else "请检查网络和地址，然后重试"
    async with AsyncExitStack() as stack:
        service, link = await stack.enter_async_context(new_service(folder))
        owner = await stack.enter_async_context(owner_at(browser, link, locale))
        slow = stack.enter_context(silent_host())
        forms = []
        for platform in WIRES:
            wire = await stack.enter_async_context(WIRES[platform].serve())
            forms.append(Form(await owner.another(), platform, wire.emulator, planted))
            forms[-1].english = english
        for form in forms:
            for trouble in TROUBLES:
                if trouble.platform == form.platform:
                    await form.meets(trouble)
            await form.meets_no_host("http://127.0.0.1:9", "127.0.0.1", retry)
        waits = f"did not respond within {TOGETHER:.0f} s" if english else f"在 {TOGETHER:.0f} 秒内没有响应"
        await asyncio.gather(*(form.meets_no_host(slow, waits) for form in forms))
        assert [said for form in forms for said in form.wrong] == []
        assert not (folder / "config.yaml").exists()
        assert not (folder / SECRETS).exists()
        assert len(planted.all) >= 20
        await look_everywhere(owner, service, folder, planted)


async def test_two_editors_and_a_closed_tab(browser: Browser, tmp_path: Path) -> None:
    planted, folder = Planted(), tmp_path / "empty"
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(
            WIRES["telegram"].serve(token=planted.make("telegram.bot_token"))
        )
        discord = await stack.enter_async_context(
            WIRES["discord"].serve(token=planted.make("discord.bot_token"))
        )
        # The service leaves first, while the platforms still answer it.
        service, link = await stack.enter_async_context(new_service(folder))
        owner = await stack.enter_async_context(owner_at(browser, link))
        for ready in (False, True):
            closed = await owner.another()
            await closed.begins("telegram", telegram.emulator.url)
            await closed.enters("bot_token", telegram.emulator.token)
            if ready:
                await expect(closed.tab.dialog).to_contain_text("channels:")
            await closed.tab.page.close()
        assert not (folder / "config.yaml").exists()
        assert not (folder / SECRETS).exists()
        ann, ben = await owner.another(), await owner.another()
        for tab, emulator, platform in (
            (ann, telegram.emulator, "telegram"),
            (ben, discord.emulator, "discord"),
        ):
            tab.tab.refused = (412,)
            await tab.begins(platform, emulator.url)
            await tab.enters("bot_token", emulator.token)
            await expect(tab.tab.dialog).to_contain_text("channels:")
        await ben.tab.dialog.locator(".primary").click()
        await expect(ben.step(3).locator(".accepted")).to_be_visible()
        await ann.tab.dialog.locator(".primary").click()
        await expect(ann.tab.dialog.get_by_role("alert")).to_contain_text("Your entries are kept")
        await ann.tab.dialog.get_by_role("alert").locator("button").click()
        await ann.tab.dialog.locator(".primary").click()
        await expect(ann.step(3).locator(".accepted")).to_be_visible()
        channels = yaml.safe_load((folder / "config.yaml").read_text())["channels"]
        assert set(channels) == {"telegram", "discord"}
        assert sorted(read_secrets(folder / "config.yaml").values()) == sorted(planted.all)
        # A tab that is closed before the owner is found goes on where it was.
        address = ann.tab.page.url
        await ann.tab.page.close()
        again = await owner.another()
        await again.tab.page.goto(address)
        telegram.asks("hello")
        await again.step(4).locator(".banner .primary").click()
        await expect(again.tab.page.locator("p.banner")).to_be_visible()
        assert [*ann.tab.bad, *ben.tab.bad, *again.tab.bad] == []
        await look_everywhere(owner, service, folder, planted)
