"""Every rule about a field of the emulated Feishu: missing, too long, out of range, and exactly at its limit.

Sources: the tables of parameters on the page of each method (open.feishu.cn, "Data validation rules").
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.fields import FIELDS, INVALID, PATH, QUERY, FieldRule
from roebot_testing.emulators.feishu.routes import ROUTES

from .feishu_app import Rest

TEXT = {"msg_type": "text", "content": '{"text":"x"}'}
VALID: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "message.create": ({**TEXT, "receive_id": "oc_1"}, {"receive_id_type": "chat_id"}),
    "message.reply": (TEXT, {}),
    "message.update": (TEXT, {}),
    "message.patch": ({"content": "{}"}, {}),
    "reaction.create": ({"reaction_type": {"emoji_type": "OnIt"}}, {}),
    "message.list": ({}, {"container_id_type": "chat", "container_id": "oc_1"}),
    "resource.get": ({}, {"type": "file"}),
    "image.create": ({"image_type": "message"}, {}),
    "file.create": ({"file_type": "stream", "file_name": "a"}, {}),
    "card.create": ({"type": "card_json", "data": "{}"}, {}),
    "card.id_convert": ({"message_id": "om_1"}, {}),
    "card.update": ({"card": {"type": "card_json", "data": "{}"}, "sequence": 1}, {}),
    "card.settings": ({"settings": "{}", "sequence": 1}, {}),
    "element.update": ({"element": "{}", "sequence": 1}, {}),
    "element.content": ({"content": "x", "sequence": 1}, {}),
    "card.delayed_update": ({"token": "c-1", "card": {}}, {}),
}
"""Body and query of a call with valid fields; what it is about does not exist, so other rules refuse it."""


@pytest.fixture
async def rest() -> AsyncIterator[Rest]:
    async with FeishuEmulator.serve(limits=False) as feishu:
        client = Rest(feishu)
        await client.authorize()
        yield client
        await client.close()


async def call(rest: Rest, rule: FieldRule, value: Any) -> httpx.Response:
    """Call the method of a rule with that value in its field (None: without it)."""
    [route] = [one for one in ROUTES if one.name == rule.method]
    body, query = ({**part} for part in VALID[rule.method])
    parts = ["x", "y"]
    if rule.place == PATH:
        parts[int(rule.field)] = value
    elif rule.place == QUERY:
        query[rule.field] = value
    else:
        _set(body, rule.field.split("."), value)
    path = route.path.pattern.removeprefix("/open-apis/")
    for part in parts:
        path = path.replace("([^/]+)", part, 1)
    present = {key: one for key, one in query.items() if one is not None}
    if rule.method in ("image.create", "file.create"):
        fields = {key: str(one) for key, one in body.items() if one is not None}
        return await rest.upload(path, fields, {"file": ("a", b"x")})
    sent = None if route.verb == "GET" else {key: one for key, one in body.items() if one is not None}
    return await rest.call(route.verb, path, sent, **present)


def _set(body: dict[str, Any], keys: list[str], value: Any) -> None:
    if len(keys) == 1:
        body[keys[0]] = value
        return
    body[keys[0]] = {**body[keys[0]]}
    _set(body[keys[0]], keys[1:], value)


def _violations(rule: FieldRule) -> list[Any]:
    found: list[Any] = [None] if rule.required and rule.place != PATH else []
    found += ["nonsense"] if rule.options else []
    found += ["x" * (rule.longest + 1)] if rule.longest else []
    return found + ([str(rule.least - 1), str(rule.most + 1)] if rule.most else [])


def _allowed(rule: FieldRule) -> list[Any]:
    found: list[Any] = [*rule.options]
    found += ["x" * rule.longest] if rule.longest else []
    return found + ([str(rule.least), str(rule.most)] if rule.most else [])


def _named(rule: FieldRule) -> str:
    return f"{rule.method} {rule.place} {rule.field}"


@pytest.mark.parametrize("rule", FIELDS, ids=_named)
async def test_a_field_is_refused_beyond_its_rule_and_taken_at_it(rest: Rest, rule: FieldRule) -> None:
    assert _violations(rule)
    for value in _violations(rule):
        answer = (await call(rest, rule, value)).json()
        assert answer["code"] == rule.error[0]
        if rule.error == INVALID:
            assert [one["field"] for one in answer["error"]["field_violations"]] == [rule.field]
    for value in _allowed(rule):
        answer = (await call(rest, rule, value)).json()
        assert rule.field not in str(answer["error"].get("field_violations") if "error" in answer else "")
        assert answer["code"] != INVALID[0]
