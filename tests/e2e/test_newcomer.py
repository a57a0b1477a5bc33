"""A newcomer's path on each platform: `roebot init`, the service, the first answer.

It is taken in both languages, in an empty folder, beside a configuration, and for a second account. What is
typed and pasted in an empty folder is counted, and so are the steps on the platform's side:
`docs/internals/setup-effort.md` has the same figures, or this fails.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from llmock.pytest_plugin import LLMock

from agent.config.secrets_file import secrets_path
from bot.app.accounts import load_manifest
from bot.config.platforms import known_platforms
from bot.texts import Texts, texts_for
from bot.texts.en import ENGLISH
from bot.texts.zh import CHINESE
from tests.harness.people import PlatformUser
from tests.harness.terminal import Terminal, terminal
from tests.harness.waiters import until
from tests.harness.wires import WIRES, Wire

pytestmark = pytest.mark.may_block
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "internals" / "setup-effort.md"
COMMANDS = 1
"""`roebot init` itself; `make install` before it is counted on the page."""
WAYS = ("telegram", "slack", "feishu", "feishu by hand", "discord")
OTHERS = {"telegram": "7", "slack": "U0000007", "feishu": "ou_0000000007", "discord": "100000000000000007"}
"""The owner of an account that is there."""
FIRST = {
    "telegram": {"token": "7000000000:AAfirst-emulated-token"},
    "slack": {"bot_token": "xoxb-first-emulated", "app_token": "xapp-first-emulated"},
    "feishu": {"app_id": "cli_first0000000001"},
    "discord": {"token": "MTIzNDU2Nzg5MDEyMzQ1Njc5.first.emulated"},
}
"""The credentials of that account."""


@dataclass(frozen=True)
class Way:
    """One path: a row of the page, the language, and what is there before."""

    row: str
    locale: str
    before: str

    @property
    def platform(self) -> str:
        return self.row.partition(" ")[0]

    @property
    def is_scanned(self) -> bool:
        """Whether the app is created by a code that is scanned."""
        return self.row == "feishu"

    @property
    def account(self) -> str:
        return "team" if self.before == "second account" else self.platform

    @property
    def texts(self) -> Texts:
        return texts_for(self.locale)

    def prompt(self, key: str, ask: str = "setup_prompt", **fields: str) -> str:
        schema = known_platforms()[self.platform]
        english = schema.asked_too.get(key) or str(schema.model_fields[key].description).rstrip(".")
        question = load_manifest(self.platform).guide(self.locale).questions.get(key, english)
        return self.texts(ask, question=question, **fields)


QUICK = Way("telegram", "en", "nothing")
EACH = [
    pytest.param(way, id=f"{row}-{locale}-{before}", marks=() if way == QUICK else pytest.mark.long)
    for row in WAYS
    for locale in ("en", "zh")
    for before in ("nothing", "configuration", "second account")
    for way in (Way(row, locale, before),)
]


def values(way: Way) -> Sequence[tuple[str, str]]:
    """What `init` asks for, with what is pasted there."""
    keys = {"telegram": ["bot_token"], "slack": ["bot_token", "app_token"], "discord": ["bot_token"]}
    if way.platform != "feishu":
        return [(way.prompt(key), key) for key in keys[way.platform]]
    domain = way.prompt("domain", "setup_default_prompt", default="feishu")
    return [(domain, ""), (way.prompt("app_id"), "app_id"), (way.prompt("app_secret"), "app_secret")]


def credential(emulator: Any, key: str) -> str:
    return str(getattr(emulator, key, "") or getattr(emulator, key.removeprefix("bot_")))


def counted(row: str) -> tuple[int, int]:
    """What the page says: steps on the platform's side, and lines typed here."""
    [found] = re.findall(rf"^\| {row} \| (\d+) \| (\d+) \|", PAGE.read_text(), re.I | re.M)
    return int(found[0]), int(found[1])


def steps(way: Way) -> int:
    if way.is_scanned:
        return 1
    guide = load_manifest(way.platform).guide(way.locale)
    return len(guide.setup_steps) + bool(guide.invite_step) + len(guide.later_steps)


def configuration(way: Way, model: str, first: Wire) -> str:
    """What is there before: comments, a model, an owner, and for a second account the first one."""
    channels = (
        f"\nchannels:\n  {PlatformUser(first).entry} # the first" if way.before == "second account" else ""
    )
    return (
        "# ours\nconfig_version: 1\nserver: {port: 0}\n"
        'models: [{name: m, use: "langchain_openai:ChatOpenAI", model: m, api_key: k, '
        f'base_url: "{model}"}}]'
        f"{channels}\naccess:\n  owners:\n    - {way.platform}:{OTHERS[way.platform]} # Ada\n"
    )


async def set_up(way: Way, person: PlatformUser, shell: Terminal, emulator: Any) -> None:
    """Answer every question; the person writes to the bot when they are told to."""
    texts = way.texts
    if way.platform == "feishu":
        title = "飞书" if texts.locale == "zh" else "Feishu / Lark"
        await shell.types("" if way.is_scanned else "n", f"{texts('setup_create', title=title)} [Y/n]: ")
    if way.is_scanned:
        await shell.expects(texts("setup_open", minutes=10))
        await until(lambda: "createOnly=true\n" in shell.text, 30.0, lambda: shell.text)
        [link] = re.findall(r"^http\S+createOnly=true$", shell.text, re.M)
        emulator.confirm_app(link, person.wire.person(1))
        await shell.expects(texts("setup_created"))
    else:
        await introduce(way, person, shell, emulator)
    if way.before == "nothing":
        await shell.types("", texts("setup_model_number"))
    await shell.types("n" if way.before == "nothing" else "y", f"{texts('setup_start_now')} [Y/n]: ")


async def introduce(way: Way, person: PlatformUser, shell: Terminal, emulator: Any) -> None:
    """Paste the credentials, and show by a message who the owner is."""
    for question, key in values(way):
        await shell.types(credential(emulator, key) if key else "", question)
    if way.platform == "discord":
        await shell.expects(f"oauth2/authorize?client_id={emulator.world.bot.id}&")
    await shell.types("", way.texts("setup_owner_prompt"))
    await shell.expects(way.texts("setup_waiting", identity="@").partition("@")[0])
    person.writes("hello")
    await shell.expects("hello\n")
    await shell.types("y", f"{way.texts('setup_wrote', who='', text='').splitlines()[1]} [y/N]: ")


@pytest.mark.parametrize("way", EACH)
async def test_from_nothing_to_the_first_answer(
    way: Way, tmp_path: Path, llmock: LLMock, record_property: Any
) -> None:
    llmock.tool_mode("off")
    for _ in range(9):
        llmock.reply("A roe deer.")
    path = tmp_path / "config.yaml"
    env = {
        "OPENAI_API_KEY": "sk-emulated",
        "OPENAI_BASE_URL": llmock.base_url(),
        "LC_ALL": "zh_CN.UTF-8" if way.locale == "zh" else "C.UTF-8",
    }
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(WIRES[way.platform].serve(**FIRST[way.platform]))
        wire = await stack.enter_async_context(WIRES[way.platform].serve())
        emulator = wire.emulator
        if way.is_scanned:
            emulator.registration.interval = 0.2
        if way.before != "nothing":
            path.write_text(configuration(way, llmock.base_url(), first))
        person = PlatformUser(wire)
        arguments = ["init", way.platform, "--name", way.account, "--base-url", emulator.url]
        shell = await stack.enter_async_context(terminal(tmp_path, *arguments, env=env))
        await set_up(way, person, shell, emulator)
        service = shell
        if way.before == "nothing":
            assert await shell.ends() == 0, shell.text
            service = await stack.enter_async_context(terminal(tmp_path, "run", "--port", "0", env=env))
        await service.expects(way.texts("run_ready", address=""))
        person.writes("What is a roe deer?")
        await until(
            lambda: "A roe deer." in person.texts(), 30.0, lambda: f"{person.texts()}\n{service.text}"
        )
        record_property("seconds", time.monotonic() - began)
        unknown = (ENGLISH["pair_code"][:20], CHINESE["pair_code"][:6])
        assert not any(words in said for said in person.texts() for words in unknown)
    lines = COMMANDS + shell.typed + (0 if way.before == "nothing" else 1)
    assert counted(way.row) == (steps(way), lines), "with a configuration, no model is chosen"
    check_file(way, path, emulator, shell.text)


def check_file(way: Way, path: Path, emulator: Any, shown: str) -> None:
    """The owner is saved, what was there is kept, and no secret was shown."""
    for _, key in values(way):
        if key and key != "app_id":
            assert credential(emulator, key) not in shown
    text = path.read_text()
    secrets = secrets_path(path)
    assert secrets.stat().st_mode & 0o777 == 0o600
    ours = "\n".join(line for line in text.splitlines() if "# the first" not in line)
    told = [key for _, key in values(way) if key and key != "app_id" and credential(emulator, key) in ours]
    assert told == []
    assert "sk-emulated" not in text + secrets.read_text()
    data = yaml.safe_load(text)
    assert "locale" not in data["channels"][way.account], "people's apps tell their own language"
    *others, owner = data["access"]["owners"]
    assert owner.startswith(f"{way.account}:")
    if way.before == "nothing":
        assert others == []
        return
    assert others == [f"{way.platform}:{OTHERS[way.platform]}"]
    assert text.startswith("# ours\n") and " # Ada\n" in text
    assert (way.before == "second account") == (" # the first\n" in text)
