"""What people and other apps do on the emulated Feishu arrives in the form of the corpus."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest

from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.people import ADA, FeishuPeople
from tests.corpus import load_samples

from .feishu_app import Rest

SAMPLES = {one.name: one for one in load_samples("feishu")}
CARD = {
    "schema": "2.0",
    "header": {"title": {"tag": "plain_text", "content": "Incident"}},
    "body": {"elements": [{"tag": "markdown", "content": "severity **2**"}]},
}
IN_FULL = {"card_msg_content_type": "user_card_content", "with_sender_name": "true"}
Act = Callable[[FeishuPeople, str], Any]


@pytest.fixture
async def feishu() -> AsyncIterator[FeishuEmulator]:
    async with FeishuEmulator.serve(limits=False) as running:
        running.world.person("ou_grace", "Grace")
        yield running


ACTIONS: dict[str, Act] = {
    "audio": lambda people, chat: people.says(kind="audio"),
    "sticker": lambda people, chat: people.says(kind="sticker"),
    "location": lambda people, chat: people.says("Tower", kind="location"),
    "file": lambda people, chat: people.says(kind="file"),
    "image": lambda people, chat: people.says(kind="image"),
    "forward-merged": lambda people, chat: people.forwards(["sun"]),
    "text-mention-people": lambda people, chat: people.says("@Roebot and @Grace", chat=chat),
    "bot-text-mention": lambda people, chat: people.app_says("@Roebot hi", app="Deploy Bot", chat=chat),
    "bot-card-mention": lambda people, chat: people.app_says(
        "@Roebot @Grace", app="Incident Bot", chat=chat, card=CARD
    ),
    "edit-adds-mention": lambda people, chat: people.edits(people.says("red", chat=chat).id, "@Roebot red"),
    "reply-to-person": lambda people, chat: people.says(
        "@Roebot why?", chat=chat, reply_to=people.says("so", chat=chat).id
    ),
    "system-member-added-event": lambda people, chat: people.joins(
        "ou_grace", "Grace", chat=chat, added_by=ADA
    ),
    "system-group-renamed-event": lambda people, chat: people.renames(chat, "Release 4.2"),
}


@pytest.mark.parametrize("name", ACTIONS)
async def test_an_action_has_the_form_of_the_corpus(feishu: FeishuEmulator, name: str) -> None:
    ACTIONS[name](feishu.people, feishu.people.make_group("team"))
    waiting = [push.event for push in feishu.pushes.waiting]
    assert _missing(waiting[-1], SAMPLES[name].event) == []


async def test_forwards_within_forwards_are_listed_behind_each_other(feishu: FeishuEmulator) -> None:
    people = feishu.people
    first = people.forwards(["sun"])
    second = people.forwards_together([first.id, people.says("rain").id])
    [outer, *inner] = await _fetch(feishu, second.id)
    assert (outer["body"]["content"], outer.get("upper_message_id")) == ("Merged and Forwarded Message", None)
    assert [one["upper_message_id"] for one in inner] == [second.id, first.id, second.id]


async def test_a_card_is_given_in_full_where_it_is_asked_for(feishu: FeishuEmulator) -> None:
    said = feishu.people.app_says(app="Alert Bot", chat=feishu.people.make_group("team"), card=CARD)
    [shown] = await _fetch(feishu, said.id)
    assert orjson.loads(shown["body"]["content"]).keys() == {"title", "elements"}
    assert "sender_name" not in shown["sender"]
    [full] = await _fetch(feishu, said.id, **IN_FULL)
    assert orjson.loads(full["body"]["content"]) == CARD
    assert full["sender"]["sender_name"] == "Alert Bot"


def _missing(value: Any, wanted: Any, path: str = "") -> list[str]:
    """Return the keys of the emulated value that the corpus does not have, and the strings that are JSON in
    one of them alone.
    """
    if isinstance(value, dict) and isinstance(wanted, dict):
        unknown = [f"{path}.{key}" for key in value.keys() - wanted.keys()]
        below = [_missing(value[key], wanted[key], f"{path}.{key}") for key in value.keys() & wanted.keys()]
        return [*unknown, *(one for found in below for one in found)]
    if isinstance(value, list) and isinstance(wanted, list):
        pairs = zip(value, wanted, strict=False)
        return [one for pair in pairs for one in _missing(*pair, f"{path}[]")]
    if isinstance(value, str) and isinstance(wanted, str) and path.endswith("content"):
        if value.startswith("{") and wanted.startswith("{"):
            return _missing(orjson.loads(value), orjson.loads(wanted), path.removesuffix("content") + "json")
        return [] if value.startswith("{") == wanted.startswith("{") else [path]
    return [] if type(value) is type(wanted) else [path]


async def _fetch(feishu: FeishuEmulator, message_id: str, **query: str) -> list[dict[str, Any]]:
    rest = Rest(feishu)
    await rest.authorize()
    data = await rest.ok("GET", f"im/v1/messages/{message_id}", **query)
    await rest.close()
    return [*data["items"]]
