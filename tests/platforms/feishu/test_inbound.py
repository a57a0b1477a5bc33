"""What people do becomes messages: places, mentions, topics, reply chains, files, clicks, the menu."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import AttachmentKind, ChatKind, InboundMessage
from bot.platforms.feishu.cards import SAY
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.state import TENANT

from .conftest import ADA, BEN, Running, eventually, group, says


async def one(running: Running) -> InboundMessage:
    """The next message alone."""
    [message] = await running.shelf.until(1)
    return message


async def test_a_private_message(running: Running, emulator: FeishuEmulator) -> None:
    said = emulator.people.says("hello", name="Ada")
    message = await one(running)
    assert message.text == "hello"
    assert message.addressed
    assert message.event_id == said.id
    assert message.sent_at == said.created / 1000
    origin = message.origin
    assert (origin.account, origin.platform, origin.chat) == ("fs", "feishu", said.chat.id)
    assert (origin.chat_kind, origin.message_id) == (ChatKind.PRIVATE, said.id)
    assert (origin.sender.id, origin.sender.name) == (ADA, "Ada")
    assert (origin.topic, origin.reply_to) == ("", "")


@pytest.mark.parametrize(
    ("said", "text", "addressed"),
    [
        ("nobody asked", "nobody asked", False),
        ("@Roebot do it", "do it", True),
        ("please @Roebot do it", "please do it", True),
        ("do it @Roebot", "do it", True),
        ("@Roebot", "", True),
        ("@Ben look", "@Ben look", False),
        ("@Ben and @Roebot look", "@Ben and look", True),
        ("@all lunch", "@all lunch", False),
    ],
)
async def test_mentions_in_a_group(
    running: Running, emulator: FeishuEmulator, said: str, text: str, addressed: bool
) -> None:
    emulator.world.person(BEN, "Ben")
    emulator.people.says(said, chat=emulator.people.make_group("team"))
    message = await one(running)
    assert message.origin.chat_kind is ChatKind.GROUP
    assert (message.text, message.addressed) == (text, addressed)


async def test_ten_mentions_are_not_mixed_up(running: Running, emulator: FeishuEmulator) -> None:
    for number in range(12):
        emulator.world.person(f"ou_many000000000000{number:04}", f"<{number}>")
    words = " ".join(f"@<{number}>" for number in range(12))
    emulator.people.says(words, chat=emulator.people.make_group("team"))
    assert (await one(running)).text == words


async def test_a_topic_is_named_by_its_thread(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    root = emulator.people.says("about", chat=place)
    emulator.people.says("@Roebot hi", chat=place, reply_to=root.id, in_thread=True)
    message = (await running.shelf.until(2))[1]
    assert message.origin.topic == root.thread_id
    assert message.origin.reply_to == ""


async def test_a_reply_names_what_it_answers(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    first = emulator.people.says("one", chat=place)
    second = emulator.people.says("two", chat=place, reply_to=first.id)
    emulator.people.says("three", chat=place, reply_to=second.id)
    messages = await running.shelf.until(3)
    assert [message.origin.reply_to for message in messages] == ["", first.id, second.id]
    assert not any(message.addressed for message in messages)


async def test_a_reply_to_the_bot_is_meant_for_it(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    answer = await running.adapter.send(says("yes?", group(place)))
    emulator.people.says("go on", chat=place, reply_to=answer)
    message = await one(running)
    assert message.addressed
    assert message.origin.reply_to == answer
    assert running.calls("message.get") == 0


async def test_a_reply_to_an_old_message_of_the_bot_is_asked_for(
    running: Running, emulator: FeishuEmulator
) -> None:
    place = emulator.people.make_group("team")
    old = emulator.world.add(emulator.world.chats[place], emulator.world.bot, "text", {"text": "old"})
    for _ in range(2):
        emulator.people.says("go on", chat=place, reply_to=old.id)
    messages = await running.shelf.until(2)
    assert all(message.addressed for message in messages)
    assert running.calls("message.get") == 1


async def test_other_apps_are_heard_as_such(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    for _ in range(2):
        emulator.people.other_bot_says("hello", chat=place)
    messages = await running.shelf.until(2)
    assert [(message.text, message.addressed) for message in messages] == [("hello", True)] * 2
    sender = messages[0].origin.sender
    assert (sender.name, sender.is_bot, sender.guest) == ("Other", True, False)
    assert sender.belongs == (f"team:{TENANT}",)
    assert running.calls("message.get") == 1


async def test_the_bot_does_not_hear_itself(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    own = emulator.world.add(emulator.world.chats[place], emulator.world.bot, "text", {"text": "@Roebot hi"})
    emulator.inject(emulator.envelopes.message(own))
    emulator.people.says("@Roebot real", chat=place)
    assert (await one(running)).text == "real"
    assert running.adapter.counts.ignored == 1


async def test_names_are_asked_for_once(running: Running, emulator: FeishuEmulator) -> None:
    for word in ("a", "b", "c"):
        emulator.people.says(word, name="Ada")
    messages = await running.shelf.until(3)
    assert {message.origin.sender.name for message in messages} == {"Ada"}
    assert running.calls("user.get") == 1


async def test_without_the_scope_people_have_no_names(running: Running, emulator: FeishuEmulator) -> None:
    emulator.revoke_scopes(["contact:contact.base:readonly"])
    for count, user in enumerate((ADA, BEN), start=1):
        emulator.people.says("hi", user=user)
        messages = await running.shelf.until(count)
    assert [message.origin.sender.name for message in messages] == ["", ""]
    assert running.calls("user.get") == 1


async def test_a_question_that_is_not_answered_delays_nothing(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.fault("slow", method="user.get", seconds=5.0)
    emulator.people.says("hi")
    assert (await one(running)).origin.sender.name == ""


async def test_a_rich_text_keeps_its_meaning(running: Running, emulator: FeishuEmulator) -> None:
    key = emulator.world.store("img", "a.png", b"png").key
    content = {
        "title": "Report",
        "content": [
            [{"tag": "text", "text": "see "}, {"tag": "a", "text": "this", "href": "https://example.org"}],
            [{"tag": "a", "text": "https://example.org", "href": "https://example.org"}],
            [{"tag": "img", "image_key": key}, {"tag": "emotion", "emoji_type": "SMILE"}],
            [{"tag": "code_block", "language": "PYTHON", "text": "print(1)"}],
            [{"tag": "hr"}, {"tag": "md", "text": "**bold**"}, {"tag": "at", "user_id": "@_all"}],
        ],
    }
    said = emulator.people.says(kind="post", content=content)
    message = await one(running)
    assert message.text == (
        "Report\nsee [this](https://example.org)\nhttps://example.org\n:SMILE:\n"
        "\n```python\nprint(1)\n```\n\n\n---\n**bold**@all"
    )
    [picture] = message.attachments
    assert (picture.kind, picture.ref) == (AttachmentKind.IMAGE, f"{said.id}/{key}")


async def test_a_mention_in_a_rich_text(running: Running, emulator: FeishuEmulator) -> None:
    emulator.world.person(BEN, "Ben")
    place = emulator.people.make_group("team")
    emulator.people.says("@Roebot ask @Ben\nplease", kind="post", chat=place)
    message = await one(running)
    assert (message.text, message.addressed) == ("ask @Ben\nplease", True)


async def test_a_rich_text_by_language(running: Running, emulator: FeishuEmulator) -> None:
    inner = {"title": "", "content": [[{"tag": "text", "text": "你好"}]]}
    emulator.people.says(kind="post", content={"zh_cn": inner})
    assert (await one(running)).text == "你好"


@pytest.mark.parametrize(
    ("kind", "attachment", "name"),
    [
        ("image", AttachmentKind.IMAGE, ".png"),
        ("file", AttachmentKind.FILE, "note.txt"),
        ("media", AttachmentKind.VIDEO, "note.txt"),
        ("audio", AttachmentKind.VOICE, ".ogg"),
    ],
)
async def test_files(
    running: Running, emulator: FeishuEmulator, kind: str, attachment: AttachmentKind, name: str
) -> None:
    emulator.people.says(kind=kind, data=b"abc", filename="note.txt")
    message = await one(running)
    [found] = message.attachments
    assert found.kind is attachment
    assert found.filename.endswith(name)
    assert message.text == ""


@pytest.mark.parametrize("kind", ["hologram", "share_user", "share_chat", "location", "system"])
async def test_what_cannot_be_read_is_named(running: Running, emulator: FeishuEmulator, kind: str) -> None:
    emulator.people.says(kind=kind, content={"file_key": "x"})
    message = await one(running)
    assert (message.unsupported, message.text, message.attachments) == (kind, "", ())


@pytest.mark.parametrize("in_group", [True, False])
async def test_the_stop_button_says_stop(running: Running, emulator: FeishuEmulator, in_group: bool) -> None:
    place = emulator.people.make_group("team") if in_group else emulator.people.private_chat()
    address = group(place) if in_group else running.private()
    message_id = await running.adapter.send(says("long", address, final=False))
    [button] = running.shown(place)[0]["buttons"]
    value = button["behaviors"][0]["value"]
    pushes = [emulator.people.clicks(message_id, value, user=BEN) for _ in range(2)]
    messages = await running.shelf.until(2)
    assert [message.text for message in messages] == ["/stop", "/stop"]
    origin = messages[0].origin
    assert (origin.chat, origin.sender.id, origin.reply_to) == (place, BEN, message_id)
    assert origin.chat_kind is (ChatKind.GROUP if in_group else ChatKind.PRIVATE)
    assert messages[0].addressed
    await eventually(lambda: all(push.answer for push in pushes))
    assert pushes[0].answer == {"code": 200, "data": {}}


async def test_a_click_in_a_topic_stays_in_it(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    root = emulator.people.says("about", chat=place)
    asked = emulator.people.says("@Roebot hi", chat=place, reply_to=root.id, in_thread=True)
    message_id = await running.adapter.send(
        says("long", group(place, asked.thread_id, asked.id), final=False)
    )
    [growing] = running.shown(place)
    emulator.people.clicks(message_id, growing["buttons"][0]["behaviors"][0]["value"])
    clicked = (await running.shelf.until(3))[2]
    assert clicked.origin.topic == root.thread_id


@pytest.mark.parametrize("value", [None, "text", {}, {"other": 1}, {SAY: 5}, {SAY: ""}])
async def test_other_buttons_say_nothing(running: Running, emulator: FeishuEmulator, value: Any) -> None:
    message_id = await running.adapter.send(says("x", running.private(), final=False))
    emulator.people.clicks(message_id, value)
    await eventually(lambda: running.adapter.counts.ignored == 1)
    assert running.shelf.messages == []


async def test_the_menu_gives_commands(running: Running, emulator: FeishuEmulator) -> None:
    chat = emulator.people.enters()
    emulator.people.chooses("new", name="Ada")
    emulator.people.chooses("/help")
    messages = await running.shelf.until(2)
    assert [message.text for message in messages] == ["/new", "/help"]
    assert {message.origin.chat for message in messages} == {chat}
    assert messages[0].origin.sender.name == "Ada"


async def test_the_menu_before_the_chat_is_known(running: Running, emulator: FeishuEmulator) -> None:
    emulator.people.chooses("new")
    message = await one(running)
    assert message.origin.chat == ADA
    assert message.origin.chat_kind is ChatKind.PRIVATE


async def test_unknown_events_are_counted(running: Running, emulator: FeishuEmulator) -> None:
    emulator.people.says("hi")
    emulator.inject(emulator.envelopes.wrap("im.message.message_read_v1", {}))
    emulator.inject(emulator.envelopes.wrap("im.chat.updated_v1", {}))
    await eventually(lambda: running.adapter.counts.ignored == 2)
    await eventually(lambda: running.adapter.counts.messages == 1)


async def test_a_message_without_content_is_nothing(running: Running, emulator: FeishuEmulator) -> None:
    emulator.people.says("   ")
    emulator.people.says("real")
    assert (await one(running)).text == "real"
