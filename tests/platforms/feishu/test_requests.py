"""Requests built with the SDK's models, as the API gets them; each is a method that the emulator knows."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

import orjson
import pytest
from aiohttp import web

from bot.platforms.feishu import requests
from bot.platforms.feishu.client import FeishuClient
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.feishu import routes

V1, KIT = "/open-apis/im/v1", "/open-apis/cardkit/v1/cards"
REPLY = {"msg_type": "text", "content": "{}", "uuid": "u-1", "reply_in_thread": True}
IN_FULL = {"card_msg_content_type": "user_card_content", "with_sender_name": "true"}
SENT: list[tuple[str, dict[str, Any], str, str, str, dict[str, str], Any]] = [
    ("describe_bot", {}, "bot.info", "GET", "/open-apis/bot/v3/info", {}, None),
    (
        "describe_person",
        {"open_id": "ou_1"},
        "user.get",
        "GET",
        "/open-apis/contact/v3/users/ou_1",
        {"user_id_type": "open_id", "department_id_type": "open_department_id"},
        None,
    ),
    (
        "list_department",
        {"department": "od-1", "page": "2"},
        "user.find_by_department",
        "GET",
        "/open-apis/contact/v3/users/find_by_department",
        {
            "user_id_type": "open_id",
            "department_id_type": "open_department_id",
            "department_id": "od-1",
            "page_size": "50",
            "page_token": "2",
        },
        None,
    ),
    ("describe_chat", {"chat": "oc_1"}, "chat.get", "GET", f"{V1}/chats/oc_1", {}, None),
    (
        "create_message",
        {"receiver": "oc_1", "kind": "text", "content": "{}", "uuid": "u-1"},
        "message.create",
        "POST",
        f"{V1}/messages",
        {"receive_id_type": "chat_id"},
        {"receive_id": "oc_1", "msg_type": "text", "content": "{}", "uuid": "u-1"},
    ),
    (
        "create_message",
        {"receiver": "ou_1", "kind": "text", "content": "{}", "uuid": "u-1"},
        "message.create",
        "POST",
        f"{V1}/messages",
        {"receive_id_type": "open_id"},
        {"receive_id": "ou_1", "msg_type": "text", "content": "{}", "uuid": "u-1"},
    ),
    (
        "reply_to_message",
        {"message_id": "om_1", "kind": "text", "content": "{}", "uuid": "u-1", "in_topic": True},
        "message.reply",
        "POST",
        f"{V1}/messages/om_1/reply",
        {},
        REPLY,
    ),
    (
        "reply_to_message",
        {"message_id": "om_1", "kind": "text", "content": "{}", "uuid": "u-1", "in_topic": False},
        "message.reply",
        "POST",
        f"{V1}/messages/om_1/reply",
        {},
        {**REPLY, "reply_in_thread": False},
    ),
    (
        "replace_card_message",
        {"message_id": "om_1", "content": "{}"},
        "message.patch",
        "PATCH",
        f"{V1}/messages/om_1",
        {},
        {"content": "{}"},
    ),
    ("delete_message", {"message_id": "om_1"}, "message.delete", "DELETE", f"{V1}/messages/om_1", {}, None),
    (
        "add_reaction",
        {"message_id": "om_1", "emoji": "OnIt"},
        "reaction.create",
        "POST",
        f"{V1}/messages/om_1/reactions",
        {},
        {"reaction_type": {"emoji_type": "OnIt"}},
    ),
    (
        "remove_reaction",
        {"message_id": "om_1", "reaction": "ZCaCIj"},
        "reaction.delete",
        "DELETE",
        f"{V1}/messages/om_1/reactions/ZCaCIj",
        {},
        None,
    ),
    ("read_message", {"message_id": "om_1"}, "message.get", "GET", f"{V1}/messages/om_1", IN_FULL, None),
    (
        "list_topic",
        {"topic": "omt_1", "page": "next"},
        "message.list",
        "GET",
        f"{V1}/messages",
        {
            "container_id_type": "thread",
            "container_id": "omt_1",
            "sort_type": "ByCreateTimeDesc",
            "page_size": "50",
            "page_token": "next",
            **IN_FULL,
        },
        None,
    ),
    (
        "download_resource",
        {"message_id": "om_1", "key": "file_1", "kind": "file"},
        "resource.get",
        "GET",
        f"{V1}/messages/om_1/resources/file_1",
        {"type": "file"},
        None,
    ),
    (
        "create_card",
        {"data": "{}"},
        "card.create",
        "POST",
        KIT,
        {},
        {"type": "card_json", "data": "{}"},
    ),
    (
        "find_card",
        {"message_id": "om_1"},
        "card.id_convert",
        "POST",
        f"{KIT}/id_convert",
        {},
        {"message_id": "om_1"},
    ),
    (
        "replace_card",
        {"card_id": "c1", "sequence": 7, "data": "{}"},
        "card.update",
        "PUT",
        f"{KIT}/c1",
        {},
        {"card": {"type": "card_json", "data": "{}"}, "sequence": 7},
    ),
    (
        "change_card_settings",
        {"card_id": "c1", "sequence": 7, "settings": "{}"},
        "card.settings",
        "PATCH",
        f"{KIT}/c1/settings",
        {},
        {"settings": "{}", "sequence": 7},
    ),
    (
        "replace_element",
        {"card_id": "c1", "sequence": 7, "element_id": "e", "element": "{}"},
        "element.update",
        "PUT",
        f"{KIT}/c1/elements/e",
        {},
        {"element": "{}", "sequence": 7},
    ),
    (
        "write_element",
        {"card_id": "c1", "sequence": 7, "element_id": "e", "content": ""},
        "element.content",
        "PUT",
        f"{KIT}/c1/elements/e/content",
        {},
        {"content": "", "sequence": 7},
    ),
]
FORMS: list[tuple[str, dict[str, Any], str, str, dict[str, Any]]] = [
    (
        "upload_image",
        {"data": b"\x89PNG"},
        "image.create",
        f"{V1}/images",
        {"image_type": "message", "image": ("a.pdf", b"\x89PNG")},
    ),
    (
        "upload_file",
        {"data": b"%PDF", "name": "a.pdf", "kind": "pdf"},
        "file.create",
        f"{V1}/files",
        {"file_type": "pdf", "file_name": "a.pdf", "file": ("a.pdf", b"%PDF")},
    ),
]
SIGN_IN = {"fetch_token", "find_endpoint"}
"""Requests of the client itself; every test of the adapter makes them."""


class Recorder:
    """A server that accepts everything, and keeps the parts of the last request."""

    def __init__(self) -> None:
        self.url = self.verb = self.path = ""
        self.query: dict[str, str] = {}
        self.body: Any = None
        self.form: dict[str, Any] = {}

    async def handle(self, request: web.Request) -> web.Response:
        if request.path.endswith("/tenant_access_token/internal"):
            return web.json_response({"code": 0, "tenant_access_token": "t", "expire": 7200})
        self.verb, self.path, self.query = (
            request.method,
            request.raw_path.partition("?")[0],
            {**request.query},
        )
        if request.content_type.startswith("multipart/"):
            fields = (await request.post()).items()
            self.form = {
                key: (value.filename, value.file.read()) if isinstance(value, web.FileField) else value
                for key, value in fields
            }
        else:
            data = await request.read()
            self.body = orjson.loads(data) if data else None
        return web.json_response({"code": 0, "data": {}})


@pytest.fixture
async def server() -> AsyncIterator[Recorder]:
    recorder = Recorder()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", recorder.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    recorder.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield recorder
    await runner.cleanup()


@pytest.fixture
async def client(server: Recorder, clock: ManualClock) -> AsyncIterator[FeishuClient]:
    made = FeishuClient("cli_1", "a-secret", server.url, clock, lambda reason: None)
    await made.open()
    yield made
    await made.close()


def method(verb: str, path: str) -> str:
    """The emulator's name of the method that a request is for."""
    found = routes.find(verb, path)
    return found[0].name if found is not None else ""


@pytest.mark.parametrize(("build", "arguments", "name", "verb", "path", "query", "body"), SENT)
async def test_a_request(
    server: Recorder,
    client: FeishuClient,
    build: str,
    arguments: dict[str, Any],
    name: str,
    verb: str,
    path: str,
    query: dict[str, str],
    body: Any,
) -> None:
    await client.send(getattr(requests, build)(**arguments))
    assert (server.verb, server.path, server.query, server.body) == (verb, path, query, body)
    assert method(server.verb, server.path) == name


@pytest.mark.parametrize(("build", "arguments", "name", "path", "form"), FORMS)
async def test_an_upload(
    server: Recorder,
    client: FeishuClient,
    build: str,
    arguments: dict[str, Any],
    name: str,
    path: str,
    form: dict[str, Any],
) -> None:
    await client.upload(getattr(requests, build)(**arguments), "a.pdf")
    assert (server.verb, server.path, server.form) == ("POST", path, form)
    assert method(server.verb, server.path) == name


async def test_an_id_stays_one_part_of_its_path(server: Recorder, client: FeishuClient) -> None:
    await client.send(requests.read_message("om_1/../x?y#z:card_id"))
    parent, _, last = server.path.rpartition("/")
    assert (parent, unquote(last)) == (f"{V1}/messages", "om_1/../x?y#z:card_id")


def test_every_request_is_checked() -> None:
    public = {
        name for name, _ in inspect.getmembers(requests, inspect.isfunction) if not name.startswith("_")
    }
    assert public == {row[0] for row in SENT} | {row[0] for row in FORMS} | SIGN_IN


def test_requests_share_nothing() -> None:
    """The SDK's builders of the token request would: their default objects are the same for every app."""
    one, two = requests.fetch_token("a", "secret-a"), requests.fetch_token("b", "secret-b")
    assert (one.body["app_secret"], two.body["app_secret"]) == ("secret-a", "secret-b")
