"""What people and apps do on Feishu, from their act to what the model is sent: in the turn, and in the record
and a digest of the chat.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.people import FeishuPeople
from tests.harness.feishu_config import feishu_config
from tests.harness.feishu_groups import MIRA, SECONDS, RecordedGroup, answers, told_model
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long, pytest.mark.usefixtures("patient_lookups")]

ADA, BEN, CARL = "ou_ada0000000000000001", "ou_ben0000000000000001", "ou_carl000000000000001"
CARD: dict[str, Any] = {
    "schema": "2.0",
    "header": {"title": {"tag": "plain_text", "content": "Certificate expires"}},
    "body": {"elements": [{"tag": "markdown", "content": "[shop](https://shop.example.com) in 7 days"}]},
}
SHOWN = ("Certificate expires", "https://shop.example.com", "in 7 days")


def act_in_group(people: FeishuPeople, chat: str) -> list[tuple[str, ...]]:
    """Let people and apps do what they can do in a group; return what the lines about it contain."""
    ada: dict[str, Any] = {"user": ADA, "name": "Ada Byron", "chat": chat}
    ben: dict[str, Any] = {"user": BEN, "name": "Ben Okafor", "chat": chat}
    people.says("morning", **ben)
    said = people.says("ask @Ben Okafor, not @all", **ada)
    people.says("noted", reply_to=said.id, **ben)
    people.says("Freeze on Friday\nDeploy on Monday", kind="post", **ada)
    people.says(kind="image", filename="rack.png", **ada)
    people.says(kind="file", filename="rack.txt", data=b"red", **ada)
    people.says(kind="media", filename="crash.mp4", **ada)
    people.says(kind="audio", data=b"sound", **ben)
    people.says(kind="sticker", **ada)
    people.says("Example Tower", kind="location", **ada)
    people.says(kind="share_user", content={"user_id": BEN}, **ada)
    people.says(kind="share_chat", content={"chat_id": people.make_group("Payments on-call")}, **ada)
    people.forwards(["the disk is full"], author_name="Mallory Quist", **ada)
    elsewhere = people.app_says(app="Watch Bot", chat=people.make_group("Alerts"), card=CARD)
    people.forwards_one(elsewhere.id, **ben)
    people.app_says("@Roebot release 4.2 is live", app="Deploy Bot", chat=chat)
    alert = people.app_says(app="Grafana", chat=chat, card=CARD)
    people.says("who renews it?", reply_to=alert.id, in_thread=True, **ben)
    people.edits(people.says("the build is red", **ada).id, "the build is green")
    people.recalls(people.says("wrong window", **ada).id)
    people.joins(CARL, "Carl Nystrom", chat=chat, added_by=BEN)
    people.renames(chat, "Release 4.2", user=ADA)
    return [
        ('"Ada Byron"', "ask @Ben Okafor, not @all"),
        ('"Ben Okafor"', '"noted"', '(reply "Ada Byron"', "ask @Ben Okafor"),
        ('"Ada Byron"', "Freeze on Friday", "Deploy on Monday"),
        ('"Ada Byron"', "[image_"),
        ('"Ada Byron"', "[rack.txt]"),
        ('"Ada Byron"', "[crash.mp4]"),
        ('"Ben Okafor"', "[audio_"),
        ('"Ada Byron"', "(sticker"),
        ('"Ada Byron"', "(location", "Example Tower", "52.52, 13.405"),
        ('"Ada Byron"', "(contact", "Ben Okafor"),
        ('"Ada Byron"', "(contact", "Payments on-call"),
        ('"Ada Byron"', '(forward "Mallory Quist"', "the disk is full"),
        ('"Ben Okafor"', "(card", *SHOWN),
        ('"Deploy Bot" [app]', "release 4.2 is live"),
        ('"Ben Okafor"', "who renews it?", '(thread_start "Grafana"', *SHOWN),
        ('"Ada Byron"', "the build is green"),
        ('"Ben Okafor"', "Ben Okafor added Carl Nystrom to the group"),
        ('"Ada Byron"', "Ada Byron renamed the group", "Release 4.2"),
    ]


async def test_record_and_digest_hold_what_people_did(tmp_path: Path, llmock: LLMock) -> None:
    async with (
        FeishuEmulator.serve() as emulator,
        running(tmp_path, feishu_config(emulator, llmock, MIRA)),
    ):
        group = RecordedGroup(emulator, llmock)
        await group.begin()
        expected = act_in_group(emulator.people, group.chat)
        record, digest = await group.ask(), await group.summarize()
    for lines in (record, digest):
        assert [
            one for one in expected if not any(all(words in line for words in one) for line in lines)
        ] == []
        text = "\n".join(lines)
        assert [words for words in ("wrong window", "the build is red") if words in text] == []


def act_in_private(people: FeishuPeople) -> list[tuple[str, ...]]:
    """Let several people send the bot something without words of their own; return what it reads of each."""
    acts: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"kind": "image", "filename": "rack.png"}, ("image_",)),
        ({"kind": "file", "filename": "rack.txt", "data": b"red"}, ("rack.txt",)),
        ({"kind": "media", "filename": "crash.mp4"}, ("crash.mp4",)),
        ({"kind": "audio", "data": b"sound"}, ("audio_",)),
        ({"kind": "sticker"}, ("sticker",)),
        ({"kind": "location", "text": "Example Tower"}, ("location", "Example Tower")),
        ({"kind": "share_user", "content": {"user_id": BEN}}, ("contact", "Ben Okafor")),
    ]
    people.says("not for the bot", user=BEN, name="Ben Okafor", chat=(alerts := people.make_group("Alerts")))
    for number, (act, _) in enumerate(acts):
        people.says(user=f"ou_private{number}", name=f"Sender {number}", **act)
    people.forwards(["the disk is full"], author_name="Mallory Quist", user="ou_private7", name="Sender 7")
    card = people.app_says(app="Grafana", chat=alerts, card=CARD)
    people.forwards_one(card.id, user="ou_private8", name="Sender 8")
    forwards = [("forward", "Mallory Quist", "the disk is full"), ("card", *SHOWN)]
    expected = [*(words for _, words in acts), *forwards]
    return [(f'"Sender {number}"', *words) for number, words in enumerate(expected)]


async def test_the_model_reads_what_people_send_without_words(tmp_path: Path, llmock: LLMock) -> None:
    async with (
        FeishuEmulator.serve() as emulator,
        running(tmp_path, feishu_config(emulator, llmock, MIRA)),
    ):
        for _ in range(9):
            llmock.reply("Noted.")
        expected = act_in_private(emulator.people)
        chats = [emulator.people.private_chat(f"ou_private{number}") for number in range(len(expected))]
        await until(
            lambda: all(answers(emulator, chat) for chat in chats),
            SECONDS,
            lambda: f"{[answers(emulator, chat) for chat in chats]}",
        )
    told = told_model(llmock, "user")
    assert [one for one in expected if not any(all(words in text for words in one) for text in told)] == []


async def test_an_edit_that_adds_the_bots_name_is_read_with_the_alert_above(
    tmp_path: Path, llmock: LLMock
) -> None:
    async with (
        FeishuEmulator.serve() as emulator,
        running(tmp_path, feishu_config(emulator, llmock, MIRA)),
    ):
        people = emulator.people
        chat = people.make_group("Operations")
        alert = people.app_says(app="Grafana", chat=chat, card=CARD)
        said = people.says("what is this?", user=ADA, name="Ada Byron", chat=chat, reply_to=alert.id)
        llmock.reply("A certificate.")
        people.edits(said.id, "@Roebot what is this?")
        await until(lambda: answers(emulator, chat), SECONDS, lambda: "no answer")
    [text] = told_model(llmock, "user")
    expected = ('"Ada Byron"', "what is this?", "Grafana", *SHOWN)
    assert [words for words in expected if words not in text] == []
