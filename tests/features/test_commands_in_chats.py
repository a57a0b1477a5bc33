"""Every command, written in chats of every platform by strangers, members and admins of another account.

The platforms are in memory, everything else is the service itself. What the commands name is Ben's on `tg`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.app import accounts
from bot.config.platforms import known_platforms
from bot.domain import LOCAL_PLATFORMS, ChatKind, InboundMessage, Origin, Sender
from bot.platforms.base import AdapterContext, AdapterFactory
from bot.platforms.manifest import Manifest
from roebot_testing.adapter import RecordingAdapter
from tests.features.access_table import IN_CHATS, ChatCaller, commands
from tests.features.attackers import ASKED, BENS, FARS, OWNERS, Target, attacked
from tests.harness.open_turns import list_open_control_turns, list_open_lanes

IDS: dict[str, Callable[[int], str]] = {
    "telegram": str,
    "slack": lambda number: f"U{number:03}",
    "discord": lambda number: f"9{number:017}",
    "feishu": lambda number: f"ou_{number:08}",
}
KEYS = {
    "telegram": 'bot_token: "{0}:x"',
    "slack": "bot_token: xoxb-{0}, app_token: xapp-{0}",
    "discord": "bot_token: x{0}",
    "feishu": "app_id: cli_{0}, app_secret: x",
}
OTHERS = [name for name in IDS if name != "telegram" and name in known_platforms()]
ACCOUNTS = {"telegram": ("tg", "far"), **{name: (f"{name}-1", f"{name}-2") for name in OTHERS}}
"""The first has members, one of whom is an admin of the second."""
MEMBER, BENS_ID, VISITOR, ADMIN, STRANGER = 7, 8, 9, 6, 40
WRITERS = {
    ChatCaller.STRANGER: (0, STRANGER),
    ChatCaller.MEMBER: (0, MEMBER),
    ChatCaller.VISITOR: (0, VISITOR),
    ChatCaller.ADMIN: (1, VISITOR),
}
"""Whose account it is that they write on, and who they are."""


def config() -> str:
    """Two accounts of every platform."""
    lines = ["access: {owners: ['telegram:1'], default: closed}", "channels:"]
    for platform, names in ACCOUNTS.items():
        first, second = (
            {"admins": (5, ADMIN), "members": (MEMBER, BENS_ID, VISITOR)},
            {"admins": (5, VISITOR), "members": (ADMIN,)},
        )
        for number, (name, rules) in enumerate(zip(names, (first, second), strict=True)):
            of = {role: [f"{platform}:{IDS[platform](one)}" for one in many] for role, many in rules.items()}
            keys = KEYS[platform].format(number + 1)
            lines.append(f"  {name}: {{platform: {platform}, {keys}, rate_scale: 0.001, access: {of}}}")
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Chats(RecordingAdapter):
    """The chats of an account; `starts` counts how often it was started."""

    starts: int = 0
    heard: int = 0
    running: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, context: AdapterContext) -> None:
        self.starts += 1
        self.running.set()
        await RecordingAdapter.start(self, context)

    async def receive(self, platform: str, person: str, text: str) -> str:
        """Somebody writes in a private chat, a new one each time; its id."""
        assert self.context is not None
        self.heard += 1
        chat = f"chat-{self.heard}"
        origin = Origin(self.name, platform, chat, ChatKind.PRIVATE, chat, Sender(person, "Eve"))
        message = InboundMessage(chat, origin, text, self.context.clock.now())
        await self.context.inbox.accept([message])
        return chat

    def said(self, chat: str) -> str:
        """Everything that is shown in a chat, files included."""
        shown = [one for one in self.shown.values() if one.address.chat == chat]
        files = [self.files[one.filename].decode(errors="replace") for one in shown if one.filename]
        return "\n".join([*(one.text for one in shown), *files])


@dataclass
class Attack:
    """The service with everything planted, and the chats of its accounts."""

    at: Target
    chats: dict[str, Chats]
    planted: set[int] = field(default_factory=set)

    async def open_turns(self) -> set[int]:
        """What is not finished yet: commands and notices, and conversations in which something runs."""
        db = self.at.service.service.db
        return {
            *await db.transact(list_open_control_turns),
            *(-one for one in await db.transact(list_open_lanes)),
        }

    async def ask(self, platform: str, caller: ChatCaller, text: str) -> str:
        """What somebody is answered."""
        which, number = WRITERS[caller]
        chats = self.chats[ACCOUNTS[platform][which]]
        chat = await chats.receive(platform, IDS[platform](number), text)
        async with asyncio.timeout(10):
            while not await self.open_turns() <= self.planted:
                await asyncio.sleep(0.002)
        return chats.said(chat)


@asynccontextmanager
async def attacked_in_chats(home: Path) -> AsyncIterator[Attack]:
    chats: dict[str, Chats] = {}
    real = accounts.load_factory

    def in_memory(manifest: Manifest) -> AdapterFactory:
        if manifest.platform in LOCAL_PLATFORMS:
            return real(manifest)
        return lambda name, _config: chats.setdefault(name, Chats(name))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "load_factory", in_memory)
        async with attacked(home, config()) as at:
            for one in chats.values():
                await one.running.wait()
            attack = Attack(at, chats)
            attack.planted = await attack.open_turns()
            yield attack


def hidden(platform: str, caller: ChatCaller) -> tuple[str, ...]:
    """Words that somebody must not read: all but those of an account whose admin they are."""
    own = platform == "telegram" and caller is ChatCaller.ADMIN
    return (BENS, OWNERS) if own else (BENS, OWNERS, FARS)


def is_as_declared(caller: ChatCaller, name: str, answer: str) -> bool:
    """Return whether somebody is answered as `IN_CHATS` says: by the command, or why they may not use it."""
    access = commands()[name]
    if caller is ChatCaller.STRANGER:
        # They are told once a day.
        return answer == "" or answer.startswith("You don't have access to this bot yet.")
    refused = access not in IN_CHATS[caller]
    if caller is ChatCaller.ADMIN and refused:
        return "all accounts" in answer
    spellings = (f"/{name}", f"/roebot {name}")
    return bool(answer) and (answer in [f"Only admins can use `{one}`." for one in spellings]) is refused


async def attack_with(attack: Attack, platform: str, caller: ChatCaller) -> list[str]:
    """What went wrong in chats of somebody who wrote every command."""
    failures = []
    for name in commands():
        for words in ASKED.get(name, ("",)):
            text = f"/{name} {words.format(**attack.at.places)}".strip()
            answer = await attack.ask(platform, caller, text)
            seen = [word for word in hidden(platform, caller) if word in answer]
            if seen or not is_as_declared(caller, name, answer):
                failures.append(f"{caller}, {text}: {seen} {answer[:100]}")
    return failures


@pytest.mark.guard(
    "commands: without access, none is carried out",
    "bot/bus/admission.py",
    "        if role < Role.MEMBER:\n            return self._admit_stranger",
    "        if role < Role.STRANGER:\n            return self._admit_stranger",
    against="admins of another account",
    case="telegram",
)
@pytest.mark.guard(
    "commands: each requires its permission",
    "bot/commands/registry.py",
    "        if self.may_use(command):",
    "        if True:",
    against="admins of another account",
    case="telegram",
)
@pytest.mark.guard(
    "commands: roles and limits of another account are not changed",
    "bot/commands/targets.py",
    "    return call.may(permission, Target(entry.scope))",
    "    return True",
    against="admins of another account",
    case="telegram",
)
@pytest.mark.guard(
    "commands: access requests on another account are not shown",
    "bot/features/people/commands.py",
    "    return [one for one in here if call.may(Permission.GRANT, Target(one.account))]",
    "    return found",
    against="admins of another account",
    case="telegram",
)
@pytest.mark.guard(
    "commands: the audit log is limited to the accounts of the caller",
    "bot/features/privacy/audit_command.py",
    "limit=AUDIT_SHOWN, person=person, accounts=accounts",
    "limit=AUDIT_SHOWN, person=person",
    against="admins of another account",
    case="telegram",
)
@pytest.mark.guard(
    "commands: another account is not restarted",
    "bot/commands/service.py",
    "    known = sorted(one for one in states if call.may(Permission.ACCOUNTS, Target(one)))",
    "    known = sorted(states)",
    against="admins of another account",
    case="telegram",
)
@pytest.mark.guard(
    "commands: schedules of another account are not reached",
    "bot/features/schedules/digest_command.py",
    "call.may(Permission.DIGESTS, Target(one.account))",
    "call.may(Permission.DIGESTS)",
    against="admins of another account",
    case="telegram",
)
@pytest.mark.parametrize(
    "platform", [one if one == "telegram" else pytest.param(one, marks=pytest.mark.long) for one in ACCOUNTS]
)
async def test_every_command_in_chats(tmp_path: Path, platform: str) -> None:
    async with attacked_in_chats(tmp_path) as attack:
        before, bens = await attack.at.snapshot(), attack.chats["tg"]
        for caller in ChatCaller:
            assert await attack_with(attack, platform, caller) == []
        assert await attack.at.snapshot() == before
        assert (bens.starts, bens.said("p8")) == (1, "")


async def test_an_admin_of_the_account_gets_through(tmp_path: Path) -> None:
    """Otherwise the attacks above would prove nothing."""
    async with attacked_in_chats(tmp_path) as attack:
        tg = attack.chats["tg"]
        for text, told in (
            ("/audit", BENS),
            ("/pair", BENS),
            ("/allow tg:33", "tg:33"),
            ("/restart tg", "tg"),
        ):
            chat = await tg.receive("telegram", str(ADMIN), text)
            async with asyncio.timeout(10):
                while not tg.said(chat):
                    await asyncio.sleep(0.002)
            assert told in tg.said(chat)
        assert "tg:33" in str((await attack.at.owner.get("/api/access")).json()["given"])
