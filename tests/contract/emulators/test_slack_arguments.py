"""Arguments and scopes of Slack's methods: the real SDK breaks each rule once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.arguments import ARGUMENT_RULES, INVALID, ArgumentRule, Unit
from roebot_testing.emulators.slack.methods import METHODS
from roebot_testing.emulators.slack.scopes import CUSTOMIZE, HISTORY, METHOD_SCOPES, READ
from roebot_testing.emulators.slack.state import CHANNEL, GROUP, IM, MPIM

from .slack_sdk_client import refusal, refused, sdk

PERSON = "U0000001"
NO_SCOPE = {"auth.test"}


@dataclass(frozen=True, slots=True)
class Place:
    """A direct message with an own post, an open stream and an uploaded file; calls are made with the SDK."""

    slack: SlackEmulator
    web: AsyncWebClient
    channel: str
    asked: str
    posted: str
    stream: str
    file: str

    def arguments(self, method: str) -> dict[str, Any]:
        """Return arguments with which a method succeeds."""
        here, text = {"channel": self.channel}, {"markdown_text": "x"}
        thread = {"channel_id": self.channel, "thread_ts": self.asked}
        known: dict[str, dict[str, Any]] = {
            "chat.postMessage": {**here, **text},
            "chat.postEphemeral": {**here, **text, "user": PERSON},
            "chat.update": {**here, **text, "ts": self.posted},
            "chat.delete": {**here, "ts": self.posted},
            "chat.startStream": {**here, **text, "thread_ts": self.asked},
            "chat.appendStream": {**here, **text, "ts": self.stream},
            "chat.stopStream": {**here, **text, "ts": self.stream},
            "assistant.threads.setStatus": {**thread, "status": "is thinking …"},
            "agents.sessions.setStatus": {**thread, "status": "processing"},
            "agents.sessions.rename": {**thread, "title": "t"},
            "assistant.threads.setSuggestedPrompts": {
                "channel_id": self.channel,
                "prompts": [{"title": "a", "message": "b"}],
            },
            "conversations.history": here,
            "conversations.replies": {**here, "ts": self.asked},
            "conversations.info": here,
            "conversations.open": {"users": PERSON},
            "reactions.add": {**here, "timestamp": self.asked, "name": "eyes"},
            "reactions.remove": {**here, "timestamp": self.posted, "name": "eyes"},
            "users.info": {"user": PERSON},
            "bots.info": {"bot": self.slack.world.app("Monitoring").bot_id},
            "usergroups.list": {},
            "usergroups.users.list": {"usergroup": "S0ONCALL"},
            "files.getUploadURLExternal": {"filename": "a.txt", "length": 1},
            "files.completeUploadExternal": {"files": [{"id": self.file}], "channel_id": self.channel},
            "files.info": {"file": self.file},
        }
        return known[method]

    async def call(self, method: str, arguments: dict[str, Any]) -> Any:
        return await self.web.api_call(method, json=arguments)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with SlackEmulator.serve(limits=False) as slack:
        slack.world.scopes += f",{READ[IM]},{READ[MPIM]},usergroups:read"
        slack.world.usergroups["S0ONCALL"] = [PERSON]
        web = sdk(slack)
        asked = slack.people.says("hi", user=PERSON)
        posted = await web.chat_postMessage(channel=asked.channel, text="x")
        stream = await web.chat_startStream(channel=asked.channel, thread_ts=asked.ts, markdown_text="x")
        await web.reactions_add(channel=asked.channel, timestamp=posted["ts"], name="eyes")
        file = slack.world.store("a.txt", "text/plain", b"abc")
        yield Place(slack, web, asked.channel, asked.ts, posted["ts"], stream["ts"], file.id)


def test_every_method_has_its_scope() -> None:
    assert set(METHODS) == set(METHOD_SCOPES) | NO_SCOPE


RULES = [(method, rule) for rule in ARGUMENT_RULES for method in rule.methods]


def of_size(rule: ArgumentRule, size: int) -> dict[str, Any]:
    """Return the argument of a rule in a size."""
    name, *below = rule.name.replace("[]", ".[]").split(".")
    text = "é" * (size // 2) + "x" * (size % 2) if rule.unit is Unit.BYTES else "x" * size
    found: Any = size if rule.unit is Unit.NUMBER else ["x"] * size if rule.unit is Unit.ITEMS else text
    if name == "attachments":
        found = [{"text": "x"}] * size
    for key in reversed(below):
        found = [found] if key == "[]" else {key: found}
    return {name: found}


def allowed(place: Place, method: str, rule: ArgumentRule, size: int) -> dict[str, Any]:
    """Return the arguments of a call in which one has a size."""
    arguments, more = place.arguments(method), of_size(rule, size)
    if "text" in more:
        del arguments["markdown_text"]
    if rule.name.startswith("files[]"):
        more["files"][0]["id"] = place.file
    return {**arguments, **more}


@pytest.mark.parametrize(("method", "rule"), RULES, ids=lambda one: getattr(one, "name", one))
async def test_an_argument_beyond_its_rule_is_refused(place: Place, method: str, rule: ArgumentRule) -> None:
    if rule.required:
        arguments = place.arguments(method)
        del arguments[rule.name]
        answer = await refusal(place.call(method, arguments))
        assert answer["error"] == rule.error
        if rule.error == INVALID:
            reason = f"[ERROR] missing required field: {rule.name}"
            assert answer["response_metadata"]["messages"] == [reason]
    if rule.least:
        assert await refused(place.call(method, allowed(place, method, rule, rule.least - 1))) == rule.error
    if rule.most:
        assert await refused(place.call(method, allowed(place, method, rule, rule.most + 1))) == rule.error
        assert (await place.call(method, allowed(place, method, rule, rule.most)))["ok"]
    assert rule.required or rule.least or rule.most


async def test_a_long_text_is_cut_and_not_refused(place: Place) -> None:
    """docs.slack.dev, chat.postMessage, truncating content."""
    await place.web.chat_postMessage(channel=place.channel, text="x" * 40_001)
    assert len(place.slack.view(place.channel)["messages"][-1]["text"]) == 40_000


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("{", "invalid_metadata_format"),
        ([], "invalid_metadata_format"),
        ({"event_payload": {}}, "invalid_metadata_schema"),
        ({"event_type": "", "event_payload": {}}, "invalid_metadata_schema"),
        ({"event_type": "x"}, "invalid_metadata_schema"),
        ({"event_type": "x", "event_payload": "y"}, "invalid_metadata_schema"),
    ],
)
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update", "chat.stopStream"])
async def test_metadata_has_a_type_and_a_payload(
    place: Place, method: str, metadata: Any, error: str
) -> None:
    """docs.slack.dev, message metadata, and the errors of each method."""
    assert await refused(place.call(method, {**place.arguments(method), "metadata": metadata})) == error
    marked = {"event_type": "x", "event_payload": {"key": "k"}}
    await place.call(method, {**place.arguments(method), "metadata": marked})


async def test_an_empty_object_removes_metadata(place: Place) -> None:
    """docs.slack.dev, chat.update, metadata."""
    marked = {"event_type": "x", "event_payload": {"key": "k"}}
    for metadata, kept in ((marked, marked), (None, marked), ({}, {})):
        await place.web.chat_update(
            channel=place.channel, ts=place.posted, markdown_text="x", metadata=metadata
        )
        shown = {one["ts"]: one for one in place.slack.view(place.channel)["messages"]}
        assert shown[place.posted]["metadata"] == kept


# Scopes


@pytest.mark.parametrize("method", [name for name, one in METHOD_SCOPES.items() if one.always])
async def test_a_method_needs_its_scope(place: Place, method: str) -> None:
    assert (await place.call(method, place.arguments(method)))["ok"]
    scope = METHOD_SCOPES[method].always
    granted = [one for one in place.slack.world.scopes.split(",") if one != scope]
    place.slack.world.scopes = ",".join(granted)
    answer = await refusal(place.call(method, place.arguments(method)))
    assert (answer["error"], answer["needed"], answer["provided"]) == (
        "missing_scope",
        scope,
        ",".join(granted),
    )


@pytest.mark.parametrize("kind", [CHANNEL, GROUP, MPIM, IM])
@pytest.mark.parametrize("method", [name for name, one in METHOD_SCOPES.items() if one.by_kind])
async def test_reading_needs_the_scope_of_the_kind_of_conversation(
    place: Place, method: str, kind: str
) -> None:
    """An app without groups:history is told so in a private channel (DataDog/slapr#47)."""
    people = place.slack.people
    channel = (
        place.channel if kind == IM else people.make_channel("x", private=kind == GROUP, group=kind == MPIM)
    )
    arguments = {"channel": channel, "ts": people.says("hi", channel="" if kind == IM else channel).ts}
    assert (await place.call(method, arguments))["ok"]
    scopes = READ if method == "conversations.info" else HISTORY
    granted = place.slack.world.scopes.split(",")
    place.slack.world.scopes = ",".join(one for one in granted if one != scopes[kind])
    answer = await refusal(place.call(method, arguments))
    assert (answer["error"], answer["needed"]) == ("missing_scope", scopes[kind])
    assert await refused(place.call(method, {**arguments, "channel": "C0NOWHERE"})) == "channel_not_found"
    place.slack.world.scopes = "chat:write"
    answer = await refusal(place.call(method, {**arguments, "channel": "C0NOWHERE"}))
    assert answer["needed"] == ",".join(scopes.values())


@pytest.mark.parametrize("face", ["username", "icon_emoji", "icon_url"])
@pytest.mark.parametrize("method", [name for name, one in METHOD_SCOPES.items() if one.customize])
async def test_another_name_or_icon_needs_a_scope(place: Place, method: str, face: str) -> None:
    """docs.slack.dev, chat:write.customize; PostHog/posthog#94943."""
    arguments = {**place.arguments(method), face: "x"}
    assert (await refusal(place.call(method, arguments)))["needed"] == CUSTOMIZE
    place.slack.world.scopes += f",{CUSTOMIZE}"
    assert (await place.call(method, arguments))["ok"]


async def test_socket_mode_needs_a_scope_of_the_app_level_token(place: Place) -> None:
    """docs.slack.dev, apps.connections.open and connections:write."""
    assert (await place.web.apps_connections_open(app_token=place.slack.app_token))["ok"]
    place.slack.world.app_scopes = "authorizations:read"
    answer = await refusal(place.web.apps_connections_open(app_token=place.slack.app_token))
    assert (answer["error"], answer["needed"], answer["provided"]) == (
        "missing_scope",
        "connections:write",
        "authorizations:read",
    )


async def test_a_token_is_no_part_of_json(place: Place) -> None:
    """docs.slack.dev/apis/web-api: a token goes with JSON in the Authorization header alone."""
    url, token = f"{place.slack.url}auth.test", place.slack.bot_token
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(url, json={"token": token})
        assert answer.json() == {"ok": False, "error": "not_authed"}
        assert (await http.post(url, data={"token": token})).json()["ok"]
        assert (await http.post(url, json={}, headers={"authorization": f"Bearer {token}"})).json()["ok"]


async def test_without_its_scope_an_app_gets_no_events_of_messages(place: Place) -> None:
    """docs.slack.dev, events app_mention and message.channels, required scopes."""
    people, outbox = place.slack.people, place.slack.outbox
    team = people.make_channel("team")

    def events() -> list[str]:
        kinds = [one.payload["event"]["type"] for one in outbox._waiting]
        outbox._waiting.clear()
        return kinds

    events()
    place.slack.world.scopes = "channels:history"
    said = people.says("@roebot hi", channel=team)
    assert events() == ["message"]
    place.slack.world.scopes = "app_mentions:read"
    people.says("@roebot hi", channel=team)
    assert events() == ["app_mention"]
    people.edits(team, said.ts, "ho")
    people.says("hi")
    assert events() == []
