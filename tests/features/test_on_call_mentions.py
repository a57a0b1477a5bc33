"""The card of an incident mentions the person on call, on the emulators."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.config import Config
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.bot.features.events.receiving import TOKEN, config, seen, send, to_chat
from tests.bot.features.events.samples import alertmanager
from tests.platforms.web.serving import world

ONCALL = """
oncall:
  people: {Ada Love: 'telegram:%d', Bo: 'telegram:%d'}
  schedules:
    team: {rota: {people: %s, start: 2026-01-05 09:00}}
"""


@pytest.mark.parametrize("name", ["Ada Love", "Cy [link](https://example.org) @Bo"])
async def test_the_person_on_call_is_mentioned(tmp_path: Path, name: str) -> None:
    async with TelegramEmulator.serve(limits=False) as emulator:
        chat = emulator.people.make_group("ops")
        ada, bo = 4001, 4002
        route = to_chat(chat, ", oncall: team")
        access = f"{{default: allow, admins: ['telegram:{bo}']}}"
        text = config(emulator, route, access=access) + ONCALL % (ada, bo, f"['{name}']")
        async with world(tmp_path, extra=text) as service:
            assert await send(service, alertmanager("a firing 10")) == 202
            (card,) = await seen(emulator, chat)
            mentioned = [one["user"]["id"] for one in card["entities"] if one["type"] == "text_mention"]
            (line,) = [one for one in card["text"].splitlines() if one.startswith("On call")]
            if name == "Ada Love":
                assert mentioned == [ada]
                assert line == "On call: @Ada Love"
            else:
                assert mentioned == [bo], "nobody with an id is on call, so the admin is asked"
                assert line == f"On call: {name}, @Bo"


@pytest.mark.parametrize(("name", "told"), [("Ada Love", "assigned to Ada Love"), ("Cy", "was not assigned")])
async def test_an_incident_is_assigned_to_the_person_on_call(tmp_path: Path, name: str, told: str) -> None:
    async with TelegramEmulator.serve(limits=False) as emulator:
        chat = emulator.people.make_group("ops")
        text = config(emulator, to_chat(chat, ", oncall: team")) + ONCALL % (4001, 4002, f"['{name}']")
        async with world(tmp_path, extra=text) as service:
            assert await send(service, alertmanager("a firing 10")) == 202
            await seen(emulator, chat)
            emulator.people.says("/incident 1 assign oncall", chat=chat)
            found = await seen(emulator, chat, lambda found: len(found) == 3)
            assert told in found[2]["text"]
            if name == "Ada Love":
                found = await seen(emulator, chat, lambda found: "Assigned to" in found[0]["text"])
                assert "Assigned to Ada Love" in found[0]["text"]
                assert "Acknowledged" not in found[0]["text"]


def test_a_route_names_a_schedule_that_exists() -> None:
    with pytest.raises(ValueError, match="there is no on-call schedule team"):
        Config.model_validate({"events": {"routes": [{"account": "web", "chat": "1", "oncall": "team"}]}})


async def card_of(
    home: Path,
    platform: str,
    account: Mapping[str, str],
    chat: str,
    group: str,
    view: Callable[[], list[Any]],
) -> str:
    """The card of an incident in a chat of a platform whose people on call are the members of a group."""
    extra = f"""
channels: {{{platform}: {json.dumps(account)}}}
access: {{default: allow}}
oncall:
  people: {{}}
  schedules: {{team: {{members: '{group}'}}}}
events:
  sources: {{alerts: {{type: alertmanager, secrets: {TOKEN}}}}}
  routes: [{{account: {platform}, chat: '{chat}', oncall: team}}]
"""
    async with world(home, extra=extra) as service, asyncio.timeout(30):
        assert await send(service, alertmanager("a firing 10")) == 202
        while "On call" not in str(found := view()):
            await asyncio.sleep(0.02)
    return str(found[0])


async def test_the_members_of_a_user_group_are_mentioned(tmp_path: Path) -> None:
    async with SlackEmulator.serve(limits=False) as slack:
        slack.world.scopes += ",usergroups:read"
        slack.world.usergroups["S0ONCALL"] = ["U0000007"]
        chat = slack.people.make_channel("ops")
        account = {"bot_token": slack.bot_token, "app_token": slack.app_token, "base_url": slack.url}
        group = "slack:usergroup:S0ONCALL"
        card = await card_of(tmp_path, "slack", account, chat, group, lambda: slack.view(chat)["messages"])
        assert "<@U0000007>" in card


async def test_the_members_of_a_department_are_mentioned(tmp_path: Path) -> None:
    async with FeishuEmulator.serve() as feishu:
        ada, department = f"ou_{7:032x}", "od-0123456789abcdef"
        feishu.world.person(ada).departments = [department]
        chat = feishu.people.make_group("ops")
        account = {"app_id": feishu.app_id, "app_secret": feishu.app_secret, "base_url": feishu.url}
        group = f"feishu:department:{department}"
        card = await card_of(tmp_path, "feishu", account, chat, group, lambda: feishu.view(chat)["messages"])
        assert f"<at id={ada}></at>" in card
