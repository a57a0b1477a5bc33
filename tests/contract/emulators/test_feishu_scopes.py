"""Scopes of the emulated Feishu: each method and each event is refused to an app without them.

Source: "Required scopes" on the page of each method (open.feishu.cn, im-v1, cardkit-v1, contact-v3).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from bot.platforms.feishu.manifest import SCOPES
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.people import ADA
from roebot_testing.emulators.feishu.routes import ROUTES
from roebot_testing.emulators.feishu.scopes import (
    GRANTED,
    GROUP_MENTIONS,
    GROUP_MESSAGES,
    METHODS,
    PERSON_DEPARTMENTS,
    PERSON_NAME,
    PRIVATE_MESSAGES,
)

from .feishu_app import Rest

REQUIRING = sorted(name for name, wanted in METHODS.items() if wanted)


@pytest.fixture
async def feishu() -> AsyncIterator[FeishuEmulator]:
    async with FeishuEmulator.serve(limits=False) as running:
        yield running


@pytest.fixture
async def rest(feishu: FeishuEmulator) -> AsyncIterator[Rest]:
    client = Rest(feishu)
    await client.authorize()
    yield client
    await client.close()


async def call(rest: Rest, method: str) -> dict[str, Any]:
    """Call a method with ids that nothing has; return the answer."""
    [route] = [one for one in ROUTES if one.name == method]
    path = route.path.pattern.removeprefix("/open-apis/").replace("([^/]+)", "x")
    body: dict[str, Any] | None = None if route.verb == "GET" else {}
    answer: dict[str, Any] = (await rest.call(route.verb, path, body)).json()
    return answer


def test_every_method_says_what_it_requires() -> None:
    assert METHODS.keys() == {route.name for route in ROUTES}


def test_the_setup_names_every_scope_that_the_app_has() -> None:
    assert {name for name, _ in SCOPES} == GRANTED
    assert all(GRANTED.intersection(wanted) for wanted in METHODS.values() if wanted)


@pytest.mark.parametrize("method", REQUIRING)
async def test_a_method_is_refused_without_its_scopes(
    feishu: FeishuEmulator, rest: Rest, method: str
) -> None:
    feishu.revoke_scopes(METHODS[method])
    answer = await call(rest, method)
    assert answer["code"] == 99991672
    assert ", ".join(METHODS[method]) in answer["msg"]
    assert [one["subject"] for one in answer["error"]["permission_violations"]] == [*METHODS[method]]
    for scope in METHODS[method]:
        feishu.revoke_scopes(METHODS[method])
        feishu.grant_scopes([scope])
        assert (await call(rest, method))["code"] != 99991672


async def test_fields_of_a_person_have_scopes_of_their_own(feishu: FeishuEmulator, rest: Rest) -> None:
    feishu.world.person(ADA, "Ada").departments = ["od_1"]
    found = await rest.ok("GET", f"contact/v3/users/{ADA}")
    assert found["user"] == {"open_id": ADA, "name": "Ada", "department_ids": ["od_1"]}
    feishu.revoke_scopes([PERSON_NAME, PERSON_DEPARTMENTS])
    assert (await rest.ok("GET", f"contact/v3/users/{ADA}"))["user"] == {"open_id": ADA}


async def test_messages_of_groups_need_a_scope_more(feishu: FeishuEmulator, rest: Rest) -> None:
    feishu.revoke_scopes([GROUP_MESSAGES])
    group = feishu.people.make_group("team")
    there, here = feishu.people.says("hi", chat=group), feishu.people.says("hi")
    refused = await rest.call("GET", f"im/v1/messages/{there.id}")
    assert (refused.json()["code"], refused.json()["msg"].split("=")[1]) == (
        230027,
        "need scope: im:message.group_msg",
    )
    listing = {"container_id_type": "chat", "container_id": group}
    assert await rest.code("GET", "im/v1/messages", **listing) == 230027
    assert await rest.code("GET", f"im/v1/messages/{here.id}") == 0
    assert await rest.code("GET", "im/v1/messages", **{**listing, "container_id": here.chat.id}) == 0


@pytest.mark.parametrize(
    ("revoked", "heard"),
    [
        ([], ["private", "@_user_1 group", "group"]),
        ([GROUP_MESSAGES], ["private", "@_user_1 group"]),
        ([GROUP_MESSAGES, GROUP_MENTIONS], ["private"]),
        ([PRIVATE_MESSAGES], ["@_user_1 group", "group"]),
    ],
)
async def test_events_come_with_their_scopes(
    feishu: FeishuEmulator, revoked: list[str], heard: list[str]
) -> None:
    feishu.revoke_scopes(revoked)
    group = feishu.people.make_group("team")
    feishu.people.says("private")
    feishu.people.says("@Roebot group", chat=group)
    feishu.people.says("group", chat=group)
    pushed = [push.event["event"]["message"] for push in feishu.pushes.waiting]
    assert [orjson.loads(one["content"])["text"] for one in pushed] == heard
