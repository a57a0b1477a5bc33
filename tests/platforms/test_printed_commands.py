"""Every command that a text names is typed as it is printed, in every kind of chat of every platform."""

from __future__ import annotations

import asyncio
import string
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

from bot.access import AccessPolicy
from bot.account_view import AccountView
from bot.app.features import installed_commands
from bot.bus.admission import AdmissionPolicy
from bot.config import AccessConfig
from bot.domain import ChatKind, InboundMessage
from bot.store.admission_types import Verdict
from bot.texts import texts_for
from bot.texts.catalogue import CATALOGUES, SPAN
from tests.harness import keyboards
from tests.harness.keyboards import Desk

REGISTRY = installed_commands()
SKILL = "summarize"
SKILLS = {"NAME": SKILL, "\u6280\u80fd\u540d": SKILL, "{command}": SKILL}
"""Names in texts that stand for a skill's."""
APPROVALS = {"approval_several", "approval_code_wrong"}
TYPED_BY_PERSON = {"unknown_for_now", "unknown_command"}
"""Texts that repeat what somebody typed."""
FIELDS: Mapping[str, object] = {
    "code": "ABCD-2345", "hours": 24, "id": 3, "minutes": 60, "name": "help", "number": 3, "verb": "show",
}  # fmt: skip


class Sample(dict[str, Any]):
    """Values for the fields of a text."""

    def __missing__(self, key: str) -> str:
        return f"<{key}>"


def named_commands() -> dict[str, set[str]]:
    """Return the commands that texts of all languages name, without slash, each with the keys that do."""
    found: dict[str, set[str]] = {}
    for catalogue in CATALOGUES.values():
        for key, template in catalogue.items():
            if key not in TYPED_BY_PERSON:
                for span in SPAN.finditer(template):
                    for usage in _fill(key, span["usage"]):
                        found.setdefault(usage, set()).add(key)
    return found


def _fill(key: str, usage: str) -> list[str]:
    if usage == "{usage}":
        return [command.usage for command in REGISTRY._commands.values()]
    if key in APPROVALS:
        return [usage.replace("{command}", name) for name in ("approve", "reject")]
    name, blank, rest = usage.partition(" ")
    filled = f"{SKILLS.get(name, name)}{blank}{rest}"
    return [string.Formatter().vformat(filled, (), Sample(FIELDS))]


NAMED = named_commands()
DESKS: Mapping[str, Callable[[], AbstractAsyncContextManager[Desk]]] = {
    "slack": keyboards.slack,
    "telegram": keyboards.telegram,
    "discord": keyboards.discord,
    "feishu": keyboards.feishu,
}


@pytest.fixture(params=["slack", "telegram", "discord", "feishu", "web", "terminal"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    """The clients of one platform."""
    local = {"web": keyboards.web, "terminal": keyboards.console}.get(request.param)
    async with local(tmp_path) if local else DESKS[request.param]() as opened:
        yield opened


def admissions(desk: Desk) -> AdmissionPolicy:
    """The rules of a service to which everybody has access."""
    view = AccountView(
        desk.stage.platform.account,
        desk.manifest.platform,
        AccessPolicy(AccessConfig(default="allow")),
        texts_for("en", desk.typed_commands),
    )
    return AdmissionPolicy(view, REGISTRY, lambda: "thread")


async def send(desk: Desk, type_: Callable[[str], Any], text: str) -> InboundMessage:
    """Type a line and return what the service receives."""
    count = len(desk.stage.inbox.messages)
    sent = type_(text)
    if isawaitable(sent):
        await sent
    try:
        async with asyncio.timeout(5):
            return (await desk.stage.inbox.until(count + 1))[-1]
    except TimeoutError:
        raise AssertionError(f"{text!r} does not reach the bot") from None


def problems(usage: str, message: InboundMessage, policy: AdmissionPolicy) -> list[str]:
    """Return why a typed command was not recognized as what it names."""
    admitted = policy.admit_message(message)
    if admitted is None or admitted.verdict is not Verdict.COMMAND:
        return ["it is no command"]
    parsed = REGISTRY.parse(message.text, mentioned=True)
    name, *words = usage.split()
    if parsed is None or parsed.name != name or [*parsed.words] != words:
        return [f"it is taken for {parsed}"]
    return [] if REGISTRY.get(name) or name == SKILL else ["there is no such command"]


CALLS = ("/roebot {}", "/Roebot /{}", "@{bot} {}", "@{bot} /{}", "@{bot} /roebot {}")
"""Ways to type a command on every platform."""


async def test_a_command_that_calls_the_bot_works_everywhere(desk: Desk) -> None:
    policy, bot = admissions(desk), desk.typed_commands().bot.removeprefix("@") or "bot"
    for keyboard in desk.keyboards:
        # Feishu delivers only mentions there, unless the app may read all messages.
        only_mentions = desk.manifest.platform == "feishu" and keyboard.kind is ChatKind.GROUP
        for call in CALLS[2:] if only_mentions else CALLS:
            message = await send(desk, keyboard.say, call.format("status", bot=bot))
            assert problems("status", message, policy) == [], (keyboard.kind, call)


async def test_a_question_is_asked_by_a_command(desk: Desk) -> None:
    policy = admissions(desk)
    for keyboard in desk.keyboards:
        texts = texts_for("en", desk.typed_commands).in_chat(keyboard.kind, keyboard.topic)
        message = await send(desk, keyboard.type, texts.command("ask Why?"))
        assert problems("ask Why?", message, policy) == []


async def test_what_is_printed_can_be_typed(desk: Desk) -> None:
    policy = admissions(desk)
    failed = []
    for keyboard in desk.keyboards:
        texts = texts_for("en", desk.typed_commands).in_chat(keyboard.kind, keyboard.topic)
        for usage in sorted(NAMED):
            printed = texts.command(usage)
            message = await send(desk, keyboard.type, printed)
            failed += [(keyboard.kind.value, printed, one) for one in problems(usage, message, policy)]
    assert failed == []
