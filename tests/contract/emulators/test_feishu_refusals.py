"""Every rule of the emulated Feishu is violated once over HTTP, and seen to refuse with its code and text.

The sources of the rules are in `roebot_testing.emulators.feishu.rules`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import pytest

from roebot_testing.emulators.feishu import FeishuEmulator, rules
from roebot_testing.emulators.feishu.people import ADA, PIXEL
from roebot_testing.emulators.feishu.scopes import GROUP_MESSAGES

from .conftest import Ticks
from .feishu_app import MARKDOWN, Rest, card

DAY = 86400.0


@dataclass
class Stage:
    """An emulated Feishu, an app that calls it, and their clock."""

    feishu: FeishuEmulator
    rest: Rest
    ticks: Ticks

    async def post(self, kind: str, content: Any, chat: str = "") -> httpx.Response:
        place = chat or self.feishu.people.private_chat()
        text = content if isinstance(content, str) else orjson.dumps(content).decode()
        body = {"receive_id": place, "msg_type": kind, "content": text}
        return await self.rest.call("POST", "im/v1/messages", body, receive_id_type="chat_id")

    async def react(self, message_id: str, emoji: str) -> httpx.Response:
        body = {"reaction_type": {"emoji_type": emoji}}
        return await self.rest.call("POST", f"im/v1/messages/{message_id}/reactions", body)

    async def create(self, data: Any) -> httpx.Response:
        text = data if isinstance(data, str) else orjson.dumps(data).decode()
        return await self.rest.call("POST", "cardkit/v1/cards", {"type": "card_json", "data": text})

    async def entity(self, **changes: Any) -> str:
        """Make a streaming card entity and send it to Ada; its path."""
        card_id, self.message = await self.rest.card(self.feishu.people.private_chat(), **changes)
        return f"cardkit/v1/cards/{card_id}"

    async def write(self, path: str, element: str = "text", **body: Any) -> httpx.Response:
        return await self.rest.call(
            "PUT", f"{path}/elements/{element}/content", {"content": "x", "sequence": 9, **body}
        )

    async def configure(self, path: str, settings: Any, **body: Any) -> httpx.Response:
        text = settings if isinstance(settings, str) else orjson.dumps(settings).decode()
        return await self.rest.call("PATCH", f"{path}/settings", {"settings": text, "sequence": 8, **body})

    async def message_of(self, text: str = "hi", chat: str = "") -> str:
        return f"im/v1/messages/{await self.rest.say(chat or self.feishu.people.private_chat(), text)}"

    async def list(self, chat: str = "", **query: str) -> httpx.Response:
        place = chat or self.feishu.people.says("hi").chat.id
        wanted = {"container_id_type": "chat", "container_id": place, **query}
        return await self.rest.call("GET", "im/v1/messages", **wanted)

    async def members(self, **query: str) -> httpx.Response:
        return await self.rest.call("GET", "contact/v3/users/find_by_department", **query)

    async def upload(self, kind: str, data: bytes | None, file_type: str = "stream") -> httpx.Response:
        fields = {"image_type": "message"} if kind == "image" else {"file_type": file_type, "file_name": "a"}
        files = {kind: ("a", data)} if data is not None else {"nothing": ("a", b"x")}
        return await self.rest.upload(f"im/v1/{kind}s", fields, files)

    async def uploaded(self, file_type: str = "stream") -> str:
        return str((await self.upload("file", b"x", file_type)).json()["data"]["file_key"])

    async def clicked(self, **changes: Any) -> str:
        """A card entity that Ada clicked, which the app has not answered; its path."""
        path = await self.entity(**changes)
        self.feishu.people.clicks(self.message, {"a": 1})
        return path

    async def update_clicked(self, token: str = "", **body: Any) -> httpx.Response:
        [found] = self.feishu.world.click_tokens
        wanted = {"token": token or found, "card": card(streaming=False), **body}
        return await self.rest.call("POST", "interactive/v1/card/update", wanted)


Violation = Callable[[Stage], Awaitable[httpx.Response]]
VIOLATIONS: dict[str, Violation] = {}


def violates(violation: Violation) -> Violation:
    """Register a violation of the rule that the function is called after."""
    VIOLATIONS[violation.__name__.upper()] = violation
    return violation


def _card(*elements: Any, config: Any = None, **root: Any) -> dict[str, Any]:
    return {"schema": "2.0", "config": config or {}, "body": {"elements": [*elements]}, **root}


def _texts(count: int) -> dict[str, Any]:
    return _card(*({"tag": "markdown", "content": "x"} for _ in range(count)))


def _button(label: str) -> dict[str, Any]:
    return {"tag": "button", "text": {"tag": "plain_text", "content": label}}


def _panel(*inner: dict[str, Any], **changes: Any) -> dict[str, Any]:
    header = {"title": {"tag": "plain_text", "content": "x"}}
    return _card({"tag": "collapsible_panel", "header": header, "elements": [*inner], **changes})


def _changes(data: Any) -> Violation:
    return lambda stage: stage.create(data)


_TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"
VIOLATIONS |= {
    "CARD_SCHEMA": _changes({"schema": "1.0", "body": {"elements": []}}),
    "CARD_EMPTY": _changes({}),
    "CARD_JSON": _changes("{no json"),
    "CARD_UNKNOWN_PROPERTY": _changes(_card(MARKDOWN, config={"wide_screen_mode": True})),
    "CARD_UNKNOWN_TAG": _changes(_card({"tag": "nonsense"})),
    "CARD_ELEMENT_ID": _changes(_card({**MARKDOWN, "element_id": "a" * 21})),
    "CARD_BUTTON_TEXT": _changes(_card(_button("x" * 101))),
    "CARD_PANEL": _changes(_panel(MARKDOWN, folded=True)),
    "CARD_PANEL_FORM": _changes(_panel({"tag": "form", "elements": [MARKDOWN]})),
    "CARD_REMOVED_TAG": _changes(_card({"tag": "action", "actions": []})),
    "CARD_NOT_SHARED": _changes(_card(MARKDOWN, config={"update_multi": False})),
    "CARD_TOO_LONG": _changes(card("x" * 31_000)),
    "CARD_TOO_MANY_ELEMENTS": _changes(_texts(201)),
    "CARD_DOUBLE_ID": _changes(_card(MARKDOWN, MARKDOWN)),
    "CARD_TABLES": _changes(card("\n\n".join([_TABLE] * 4))),
    "CARD_NOBODY": _changes(card("<at id=ou_nobody></at> hi")),
    "MESSAGE_KIND": lambda stage: stage.post("nonsense", {}),
    "MESSAGE_JSON": lambda stage: stage.post("text", "no json"),
    "MESSAGE_CONTENT": lambda stage: stage.post("text", {"text": " "}),
    "MESSAGE_TAG": lambda stage: stage.post("post", {"en_us": {"content": [[{"tag": "blink"}]]}}),
    "MESSAGE_TAG_FIELD": lambda stage: stage.post(
        "post", {"en_us": {"content": [[{"tag": "a", "text": "x"}]]}}
    ),
    "MESSAGE_TOO_LONG": lambda stage: stage.post("text", {"text": "x" * 150 * 1024}),
    "MESSAGE_CARD": lambda stage: stage.post("interactive", {"schema": "1.0"}),
    "IMAGE_UNKNOWN": lambda stage: stage.post("image", {"image_key": "img_unknown"}),
    "FILE_UNKNOWN": lambda stage: stage.post("file", {"file_key": "file_unknown"}),
    "RECEIVER_UNKNOWN": lambda stage: stage.post("text", {"text": "x"}, "oc_unknown"),
    "CHAT_UNKNOWN": lambda stage: stage.rest.call("GET", "im/v1/chats/oc_unknown"),
    "PERSON_HIDDEN": lambda stage: stage.rest.call("GET", "contact/v3/users/ou_unknown"),
    "DEPARTMENT_HIDDEN": lambda stage: stage.members(department_id="od-unknown"),
    "MEMBERS_PAGE": lambda stage: stage.members(page_size="51"),
    "MEMBERS_TOKEN": lambda stage: stage.members(page_token="nonsense"),
    "ENTITY_UNKNOWN": lambda stage: stage.write("cardkit/v1/cards/1"),
    "LIST_CONTAINER": lambda stage: stage.list(container_id_type="nonsense"),
    "LIST_START": lambda stage: stage.list(start_time="yesterday"),
    "LIST_END": lambda stage: stage.list(end_time="today", container_id_type="thread"),
    "LIST_SORT": lambda stage: stage.list(sort_type="ByName"),
    "LIST_PAGE": lambda stage: stage.list(page_token="nonsense"),
    "UPLOAD_MISSING": lambda stage: stage.upload("file", None),
    "UPLOAD_EMPTY": lambda stage: stage.upload("file", b""),
    "UPLOAD_TOO_LARGE": lambda stage: stage.upload("image", PIXEL + bytes(10 * 1024 * 1024)),
    "IMAGE_FORMAT": lambda stage: stage.upload("image", b"no picture"),
    "IMAGE_RESOLUTION": lambda stage: stage.upload("image", b"GIF89a" + b"\xd1\x07\x01\x00"),
}


@violates
async def entity_expired(stage: Stage) -> httpx.Response:
    path = await stage.entity()
    stage.ticks.at += 14 * DAY
    await stage.rest.authorize()
    return await stage.write(path)


@violates
async def entity_foreign(stage: Stage) -> httpx.Response:
    group = stage.feishu.people.make_group("team")
    said = stage.feishu.people.app_says(app="Alerts", chat=group, card=card(streaming=False))
    found = await stage.rest.ok("POST", "cardkit/v1/cards/id_convert", {"message_id": said.id})
    return await stage.configure(f"cardkit/v1/cards/{found['card_id']}", {"config": {}})


@violates
async def entity_in_interaction(stage: Stage) -> httpx.Response:
    return await stage.write(await stage.clicked())


@violates
async def entity_uuid(stage: Stage) -> httpx.Response:
    path = await stage.entity()
    assert (await stage.write(path, uuid="u", sequence=1)).json()["code"] == 0
    return await stage.write(path, uuid="u", sequence=2)


@violates
async def entity_sequence(stage: Stage) -> httpx.Response:
    path = await stage.entity()
    assert (await stage.write(path, sequence=5)).json()["code"] == 0
    return await stage.write(path, sequence=5)


@violates
async def entity_settings(stage: Stage) -> httpx.Response:
    return await stage.configure(await stage.entity(), {})


@violates
async def entity_parameter(stage: Stage) -> httpx.Response:
    return await stage.configure(await stage.entity(), "no json")


@violates
async def not_streaming(stage: Stage) -> httpx.Response:
    return await stage.write(await stage.entity(streaming=False))


@violates
async def stream_expired(stage: Stage) -> httpx.Response:
    path = await stage.entity()
    stage.ticks.at += 600
    return await stage.write(path)


@violates
async def element_not_text(stage: Stage) -> httpx.Response:
    data = _card(_button("x") | {"element_id": "stop"}, config={"streaming_mode": True})
    made = (await stage.create(data)).json()["data"]
    return await stage.write(f"cardkit/v1/cards/{made['card_id']}", "stop")


@violates
async def element_unknown(stage: Stage) -> httpx.Response:
    return await stage.write(await stage.entity(), "nope")


@violates
async def message_card_id(stage: Stage) -> httpx.Response:
    path = await stage.entity()
    sent = {"type": "card", "data": {"card_id": path.rpartition("/")[2]}}
    return await stage.post("interactive", sent)


@violates
async def message_card_locked(stage: Stage) -> httpx.Response:
    await stage.clicked()
    content = orjson.dumps(card(streaming=False)).decode()
    return await stage.rest.call("PATCH", f"im/v1/messages/{stage.message}", {"content": content})


@violates
async def delayed_token(stage: Stage) -> httpx.Response:
    await stage.clicked()
    return await stage.update_clicked("c-unknown")


@violates
async def delayed_expired(stage: Stage) -> httpx.Response:
    await stage.clicked()
    stage.ticks.at += 1800
    return await stage.update_clicked()


@violates
async def delayed_used_up(stage: Stage) -> httpx.Response:
    await stage.clicked()
    for _ in range(2):
        assert (await stage.update_clicked()).json()["code"] == 0
    return await stage.update_clicked()


@violates
async def delayed_recalled(stage: Stage) -> httpx.Response:
    await stage.clicked()
    await stage.rest.ok("DELETE", f"im/v1/messages/{stage.message}")
    return await stage.update_clicked()


@violates
async def not_in_group(stage: Stage) -> httpx.Response:
    group = stage.feishu.people.make_group("team")
    stage.feishu.people.removes_bot(group)
    return await stage.post("text", {"text": "x"}, group)


@violates
async def no_availability(stage: Stage) -> httpx.Response:
    said = stage.feishu.people.says("hi")
    stage.feishu.people.loses_bot()
    body = {"msg_type": "text", "content": '{"text":"x"}'}
    return await stage.rest.call("POST", f"im/v1/messages/{said.id}/reply", body)


@violates
async def group_muted(stage: Stage) -> httpx.Response:
    group = stage.feishu.people.make_group("team")
    stage.feishu.people.mutes_bot(group)
    return await stage.post("text", {"text": "x"}, group)


@violates
async def bot_stopped(stage: Stage) -> httpx.Response:
    stage.feishu.people.stops_bot()
    return await stage.post("text", {"text": "x"})


@violates
async def chat_dissolved(stage: Stage) -> httpx.Response:
    group = stage.feishu.people.make_group("team")
    path = await stage.message_of(chat=group)
    stage.feishu.people.dissolves(group)
    return await stage.rest.call("DELETE", path)


@violates
async def chat_outside(stage: Stage) -> httpx.Response:
    group = stage.feishu.people.make_group("team")
    stage.feishu.people.removes_bot(group)
    return await stage.rest.call("GET", f"im/v1/chats/{group}")


@violates
async def file_foreign(stage: Stage) -> httpx.Response:
    said = stage.feishu.people.says(kind="file")
    return await stage.post("file", {"file_key": said.content["file_key"]})


@violates
async def file_type(stage: Stage) -> httpx.Response:
    return await stage.post("file", {"file_key": await stage.uploaded("mp4")})


@violates
async def kind_unsupported(stage: Stage) -> httpx.Response:
    said = stage.feishu.people.says(kind="system", content={"template": "x"})
    body = {"msg_type": "text", "content": '{"text":"x"}'}
    return await stage.rest.call("POST", f"im/v1/messages/{said.id}/reply", body)


@violates
async def update_foreign(stage: Stage) -> httpx.Response:
    body = {"msg_type": "text", "content": '{"text":"x"}'}
    return await stage.rest.call("PUT", f"im/v1/messages/{stage.feishu.people.says('hi').id}", body)


@violates
async def update_too_often(stage: Stage) -> httpx.Response:
    path, body = await stage.message_of(), {"msg_type": "text", "content": '{"text":"x"}'}
    for _ in range(20):
        await stage.rest.ok("PUT", path, body)
    return await stage.rest.call("PUT", path, body)


@violates
async def update_too_late(stage: Stage) -> httpx.Response:
    stage.feishu.set_windows(edit=60, recall=60)
    path = await stage.message_of()
    stage.ticks.at += 60
    return await stage.rest.call("PUT", path, {"msg_type": "text", "content": '{"text":"x"}'})


@violates
async def patch_foreign(stage: Stage) -> httpx.Response:
    group = stage.feishu.people.make_group("team")
    said = stage.feishu.people.app_says(app="Alerts", chat=group, card=card(streaming=False))
    content = orjson.dumps(card(streaming=False)).decode()
    return await stage.rest.call("PATCH", f"im/v1/messages/{said.id}", {"content": content})


@violates
async def patch_no_card(stage: Stage) -> httpx.Response:
    content = orjson.dumps(card(streaming=False)).decode()
    return await stage.rest.call("PATCH", await stage.message_of(), {"content": content})


@violates
async def patch_too_late(stage: Stage) -> httpx.Response:
    await stage.entity(streaming=False)
    stage.ticks.at += 14 * DAY
    await stage.rest.authorize()
    content = orjson.dumps(card(streaming=False)).decode()
    return await stage.rest.call("PATCH", f"im/v1/messages/{stage.message}", {"content": content})


@violates
async def recall_foreign(stage: Stage) -> httpx.Response:
    return await stage.rest.call("DELETE", f"im/v1/messages/{stage.feishu.people.says('hi').id}")


@violates
async def recall_too_late(stage: Stage) -> httpx.Response:
    stage.feishu.set_windows(edit=60, recall=60)
    path = await stage.message_of()
    stage.ticks.at += 60
    return await stage.rest.call("DELETE", path)


@violates
async def recalled(stage: Stage) -> httpx.Response:
    said = stage.feishu.people.says("hi")
    stage.feishu.people.recalls(said.id)
    body = {"msg_type": "text", "content": '{"text":"x"}'}
    return await stage.rest.call("POST", f"im/v1/messages/{said.id}/reply", body)


@violates
async def read_group(stage: Stage) -> httpx.Response:
    stage.feishu.revoke_scopes([GROUP_MESSAGES])
    said = stage.feishu.people.says("hi", chat=stage.feishu.people.make_group("team"))
    return await stage.rest.call("GET", f"im/v1/messages/{said.id}")


@violates
async def reaction_type(stage: Stage) -> httpx.Response:
    said = stage.feishu.people.says("hi")
    good = await stage.react(said.id, "OnIt")
    again = await stage.react(said.id, "OnIt")
    assert good.json()["data"]["reaction_id"] == again.json()["data"]["reaction_id"]
    return await stage.react(said.id, "👀")


@violates
async def reaction_message(stage: Stage) -> httpx.Response:
    return await stage.react("om_nowhere", "OnIt")


@violates
async def resource_elsewhere(stage: Stage) -> httpx.Response:
    said, other = (stage.feishu.people.says(kind="file") for _ in range(2))
    path = f"im/v1/messages/{said.id}/resources/{other.content['file_key']}"
    return await stage.rest.call("GET", path, type="file")


@violates
async def resource_outside(stage: Stage) -> httpx.Response:
    group = stage.feishu.people.make_group("team")
    said = stage.feishu.people.says(kind="file", chat=group)
    stage.feishu.people.removes_bot(group)
    path = f"im/v1/messages/{said.id}/resources/{said.content['file_key']}"
    return await stage.rest.call("GET", path, type="file")


@violates
async def resource_kind(stage: Stage) -> httpx.Response:
    said = stage.feishu.people.forwards(["hi"])
    return await stage.rest.call("GET", f"im/v1/messages/{said.id}/resources/file_1", type="file")


@violates
async def resource_too_large(stage: Stage) -> httpx.Response:
    said = stage.feishu.people.says(kind="file", data=bytes(100 * 1024 * 1024 + 1))
    path = f"im/v1/messages/{said.id}/resources/{said.content['file_key']}"
    return await stage.rest.call("GET", path, type="file")


@pytest.fixture
async def stage(ticks: Ticks) -> AsyncIterator[Stage]:
    async with FeishuEmulator.serve(monotonic=ticks, limits=False) as feishu:
        rest = Rest(feishu)
        await rest.authorize()
        feishu.world.person(ADA, "Ada")
        yield Stage(feishu, rest, ticks)
        await rest.close()


def test_every_rule_is_violated_by_a_test() -> None:
    assert VIOLATIONS.keys() == rules.RULES.keys()
    assert all(rule.source for rule in rules.RULES.values())


@pytest.mark.parametrize("name", sorted(rules.RULES))
async def test_a_rule_refuses_what_violates_it(stage: Stage, name: str) -> None:
    rule = rules.RULES[name]
    answer = await VIOLATIONS[name](stage)
    assert answer.status_code == 400
    body = answer.json()
    assert body["code"] == rule.code
    assert body["msg"].startswith(rule.msg.partition("{}")[0])


AT_THE_LIMIT: dict[str, Violation] = {
    "200 elements": lambda stage: stage.create(_texts(200)),
    "element id of 20 characters": lambda stage: stage.create(_card({**MARKDOWN, "element_id": "a" * 20})),
    "button of 100 characters": lambda stage: stage.create(_card(_button("x" * 100))),
    "three tables": lambda stage: stage.create(card("\n\n".join([_TABLE] * 3))),
    "card of 30 KB": lambda stage: stage.create(card("x" * (30 * 1024 - len(orjson.dumps(card("")))))),
    "mention of a person": lambda stage: stage.create(card(f"<at id={ADA}></at> <at id=all></at> hi")),
    "mention as code": lambda stage: stage.create(card("`<at id=ou_nobody></at>`")),
    "shared card": lambda stage: stage.create(_card(MARKDOWN, config={"update_multi": True})),
    "picture of 10 MB": lambda stage: stage.upload("image", PIXEL + bytes(10 * 1024 * 1024 - len(PIXEL))),
    "GIF of 2000 pixels": lambda stage: stage.upload("image", b"GIF89a" + b"\xd0\x07\xd0\x07"),
    "file of 30 MB": lambda stage: stage.upload("file", bytes(30 * 1024 * 1024)),
    "post": lambda stage: stage.post(
        "post", {"en_us": {"content": [[{"tag": "a", "text": "x", "href": "https://example.org"}]]}}
    ),
}


@pytest.mark.parametrize("name", AT_THE_LIMIT)
async def test_what_is_exactly_at_a_limit_is_taken(stage: Stage, name: str) -> None:
    assert (await AT_THE_LIMIT[name](stage)).json()["code"] == 0


async def test_times_just_before_their_end_are_taken(stage: Stage) -> None:
    stage.feishu.set_windows(edit=60, recall=60)
    path, card_path = await stage.message_of(), await stage.entity()
    stage.ticks.at += 59
    await stage.rest.ok("PUT", path, {"msg_type": "text", "content": '{"text":"x"}'})
    await stage.rest.ok("DELETE", path)
    stage.ticks.at += 14 * DAY - 60
    await stage.rest.authorize()
    answer = await stage.configure(card_path, {"config": {"streaming_mode": True}})
    assert answer.json()["code"] == 0
    content = orjson.dumps(card(streaming=False)).decode()
    await stage.rest.ok("PATCH", f"im/v1/messages/{stage.message}", {"content": content})


async def test_an_interaction_ends_after_three_seconds(stage: Stage) -> None:
    path = await stage.clicked()
    stage.ticks.at += 3
    assert (await stage.write(path)).json()["code"] == 0


async def test_a_recalled_message_is_marked_as_such(stage: Stage) -> None:
    said = stage.feishu.people.says("hi")
    stage.feishu.people.recalls(said.id)
    [found] = (await stage.rest.ok("GET", f"im/v1/messages/{said.id}"))["items"]
    assert (found["deleted"], found["body"]["content"]) == (True, "This message was recalled")


@pytest.mark.parametrize("file_type", ["opus", "mp4", "pdf", "stream"])
async def test_a_file_is_sent_as_the_kind_it_was_uploaded_for(stage: Stage, file_type: str) -> None:
    kind = {"opus": "audio", "mp4": "media"}.get(file_type, "file")
    key = await stage.uploaded(file_type)
    assert (await stage.post(kind, {"file_key": key})).json()["code"] == 0


@pytest.mark.parametrize("header", [None, {"subtitle": "x"}], ids=["missing", "unknown"])
async def test_a_panel_needs_a_header_with_known_properties(stage: Stage, header: Any) -> None:
    answer = await stage.create(_panel(MARKDOWN, header=header))
    assert answer.json()["code"] == rules.CARD_PANEL.code


async def test_a_panel_holds_other_components(stage: Stage) -> None:
    answer = await stage.create(_panel(MARKDOWN, expanded=True))
    assert answer.json()["code"] == 0
