"""States of chats in which Telegram refuses a call, each with its error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.telegram.members import TelegramMembers

from .telegram_violations import MINE, PERSON

Answer = tuple[int, dict[str, Any]]
TWO_DAYS = 48 * 3600


class Scene:
    """An emulator with calls over the wire; `file` is the id of a file that a person sent."""

    def __init__(self, emulator: TelegramEmulator, http: httpx.AsyncClient) -> None:
        self.emulator = emulator
        self.file = ""
        self._http = http

    @property
    def people(self) -> TelegramMembers:
        return self.emulator.people

    async def call(self, method: str, **parameters: Any) -> Answer:
        """Make a call; return status and body."""
        url = f"{self.emulator.url}/bot{self.emulator.token}/{method}"
        response = await self._http.post(url, json=parameters)
        return response.status_code, response.json()

    async def send(self, chat: int, **parameters: Any) -> Answer:
        return await self.call("sendMessage", **{"chat_id": chat, "text": "a", **parameters})

    async def upload(self, method: str, field: str, data: bytes) -> Answer:
        """Upload a file to the chat with PERSON."""
        url = f"{self.emulator.url}/bot{self.emulator.token}/{method}"
        response = await self._http.post(url, data={"chat_id": str(PERSON)}, files={field: ("a.bin", data)})
        return response.status_code, response.json()

    async def entity(self, text: str, offset: int, length: int) -> Answer:
        return await self.send(
            PERSON, text=text, entities=[{"type": "bold", "offset": offset, "length": length}]
        )

    async def edit(self, message_id: int, **parameters: Any) -> Answer:
        return await self.call(
            "editMessageText", **{"chat_id": PERSON, "message_id": message_id, "text": "b", **parameters}
        )

    async def react(self, chat: int, message_id: int, *emoji: str) -> Answer:
        reaction = [{"type": "emoji", "emoji": one} for one in emoji]
        return await self.call("setMessageReaction", chat_id=chat, message_id=message_id, reaction=reaction)

    async def delete(self, chat: int, message_id: int) -> Answer:
        return await self.call("deleteMessage", chat_id=chat, message_id=message_id)


Breaks = Callable[[Scene], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class SceneRule:
    """What breaks the rule `name`, and Telegram's answer."""

    name: str
    error: str
    breaks: Breaks
    status: int = 400


async def stranger(scene: Scene) -> Answer:
    scene.people.says("hi", user=8, chat=scene.people.make_group())
    return await scene.send(8)


async def stranger_action(scene: Scene) -> Answer:
    scene.people.says("hi", user=8, chat=scene.people.make_group())
    return await scene.call("sendChatAction", chat_id=8, action="typing")


async def bot_peer(scene: Scene) -> Answer:
    scene.people.posts("alert", app=9, chat=scene.people.make_group())
    return await scene.send(9)


async def deactivated(scene: Scene) -> Answer:
    scene.people.deletes_chat(PERSON)
    return await scene.send(PERSON)


async def blocked(scene: Scene) -> Answer:
    scene.people.blocks(PERSON)
    return await scene.send(PERSON)


async def kicked(scene: Scene) -> Answer:
    chat = scene.people.make_group(supergroup=True)
    scene.people.blocks(chat)
    return await scene.send(chat)


async def left(scene: Scene) -> Answer:
    chat = scene.people.make_group()
    scene.people.loses_bot(chat)
    return await scene.send(chat)


async def group_deleted(scene: Scene) -> Answer:
    chat = scene.people.make_group()
    scene.people.deletes_chat(chat)
    return await scene.send(chat)


async def no_right(scene: Scene) -> Answer:
    chat = scene.people.make_group(supergroup=True)
    scene.people.restricts_bot(chat, "documents", "photos")
    assert (await scene.send(chat))[0] == 200
    return await scene.call("sendDocument", chat_id=chat, document=scene.file)


async def no_right_rich(scene: Scene) -> Answer:
    chat = scene.people.make_group(supergroup=True)
    scene.people.restricts_bot(chat, "rich messages")
    return await scene.call("sendRichMessage", chat_id=chat, rich_message={"markdown": "a"})


async def unknown_topic(scene: Scene) -> Answer:
    chat = scene.people.make_group(forum=True)
    topic = scene.people.make_topic(chat, "Plans")
    assert (await scene.send(chat, message_thread_id=topic))[0] == 200
    scene.people.deletes_topic(chat, topic)
    return await scene.send(chat, message_thread_id=topic)


async def general_topic(scene: Scene) -> Answer:
    return await scene.send(scene.people.make_group(forum=True), message_thread_id=1)


async def topic_closed(scene: Scene) -> Answer:
    chat = scene.people.make_group(forum=True)
    topic = scene.people.make_topic(chat, "Plans")
    scene.people.closes_topic(chat, topic)
    return await scene.send(chat, message_thread_id=topic)


async def edit_of_others(scene: Scene) -> Answer:
    return await scene.edit(scene.people.says("hi", user=PERSON).id)


async def edit_without_text(scene: Scene) -> Answer:
    _, body = await scene.call("sendDocument", chat_id=PERSON, document=scene.file)
    return await scene.edit(body["result"]["message_id"])


async def delete_in(scene: Scene, *, supergroup: bool) -> Answer:
    chat = scene.people.make_group(supergroup=supergroup)
    return await scene.delete(chat, scene.people.says("hi", user=PERSON, chat=chat).id)


async def delete_old(scene: Scene) -> Answer:
    scene.people.ages_message(PERSON, MINE, TWO_DAYS)
    return await scene.delete(PERSON, MINE)


async def delete_old_in_supergroup(scene: Scene) -> Answer:
    chat = scene.people.make_group(supergroup=True)
    _, body = await scene.send(chat)
    scene.people.ages_message(chat, body["result"]["message_id"], TWO_DAYS)
    return await scene.delete(chat, body["result"]["message_id"])


async def delete_topic_start(scene: Scene) -> Answer:
    chat = scene.people.make_group(forum=True)
    topic = scene.people.make_topic(chat, "Plans", by_bot=True)
    return await scene.delete(chat, topic)


async def expired_query(scene: Scene) -> Answer:
    query = scene.people.presses(PERSON, MINE, "yes", user=PERSON)
    scene.people.stops_waiting(query)
    return await scene.call("answerCallbackQuery", callback_query_id=query)


async def draft_in_group(scene: Scene) -> Answer:
    chat = scene.people.make_group()
    return await scene.call("sendMessageDraft", chat_id=chat, draft_id=1, text="a")


async def file_too_big(scene: Scene) -> Answer:
    scene.emulator.world.files[scene.file].data = bytes(20 * 1024 * 1024)
    assert (await scene.call("getFile", file_id=scene.file))[0] == 200
    scene.emulator.world.files[scene.file].data += b"x"
    return await scene.call("getFile", file_id=scene.file)


async def upload_too_big(scene: Scene) -> Answer:
    return await scene.upload("sendDocument", "document", bytes(50 * 1024 * 1024 + 1))


async def photo_too_big(scene: Scene) -> Answer:
    picture = b"\x89PNG".ljust(10 * 1024 * 1024)
    assert (await scene.upload("sendPhoto", "photo", picture))[0] == 200
    return await scene.upload("sendPhoto", "photo", picture + b" ")


async def webhook_active(scene: Scene) -> Answer:
    await scene.call("setWebhook", url="http://127.0.0.1:9")
    return await scene.call("getUpdates")


async def end_poll(scene: Scene, method: str, **parameters: Any) -> Answer:
    """Make a call while a poll waits, and return the answer to the poll."""
    await scene.call("getUpdates", offset=-1)
    last = await scene.call("getUpdates", offset=-1)
    offset = last[1]["result"][0]["update_id"] + 1
    polling = asyncio.create_task(scene.call("getUpdates", offset=offset, timeout=20))
    while not scene.emulator.queue.polled:
        await asyncio.sleep(0)
    assert (await scene.call(method, **parameters))[0] == 200
    return await polling


_PAST_END = "entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 4"
_EDIT = "message is not modified: specified new message content and reply markup are exactly the same "
_QUERY = "query is too old and response timeout expired or query ID is invalid"
_HOOKED = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
_POLLED = "terminated by other getUpdates request; make sure that only one bot instance is running"
_PHOTO = "file of size 10485761 bytes is too big for a photo; the maximum size is 10485760 bytes"
_MISSING_MEDIA = {"chat_id": PERSON, "media": [{"type": "photo", "media": "x"}]}


async def nothing_to_react(scene: Scene) -> Answer:
    return await scene.react(PERSON, 99, "👀")


async def reaction_refused(scene: Scene) -> Answer:
    chat = scene.people.make_group()
    said = scene.people.says("go", user=PERSON, chat=chat)
    assert (await scene.react(chat, said.id, "👀"))[0] == 200
    assert (await scene.react(chat, said.id, "🦀"))[0] == 400
    scene.people.restricts_bot(chat, "reactions")
    assert (await scene.react(chat, said.id))[0] == 200
    return await scene.react(chat, said.id, "👀")


SCENES = (
    SceneRule("no_chat_id", "chat_id is empty", lambda scene: scene.call("sendMessage", text="a")),
    SceneRule("unknown_chat", "chat not found", lambda scene: scene.send(4711)),
    SceneRule("stranger", "bot can't initiate conversation with a user", stranger, 403),
    SceneRule("stranger_action", "PEER_ID_INVALID", stranger_action),
    SceneRule("bot_peer", "the bot can't send messages to the bot", bot_peer, 403),
    SceneRule("deactivated", "user is deactivated", deactivated, 403),
    SceneRule("blocked", "bot was blocked by the user", blocked, 403),
    SceneRule("kicked", "bot was kicked from the supergroup chat", kicked, 403),
    SceneRule("left", "bot is not a member of the group chat", left, 403),
    SceneRule("group_deleted", "the group chat was deleted", group_deleted, 403),
    SceneRule("no_right", "not enough rights to send documents to the chat", no_right),
    SceneRule("no_right_rich", "not enough rights to send the rich message to the chat", no_right_rich),
    SceneRule("unknown_topic", "message thread not found", unknown_topic),
    SceneRule("general_topic", "message thread not found", general_topic),
    SceneRule("topic_closed", "TOPIC_CLOSED", topic_closed),
    SceneRule(
        "no_reply_target",
        "message to be replied not found",
        lambda scene: scene.send(PERSON, reply_parameters={"message_id": 99}),
    ),
    SceneRule(
        "entity_after_end",
        "entity begins after the end of the text at UTF-16 offset 4",
        lambda scene: scene.entity("abc", 4, 1),
    ),
    SceneRule("entity_past_end", _PAST_END, lambda scene: scene.entity("abc", 1, 3)),
    SceneRule(
        "entity_begins_inside",
        "entity begins in a middle of a UTF-16 symbol at byte offset 5",
        lambda scene: scene.entity("a😀b", 2, 1),
    ),
    SceneRule(
        "entity_ends_inside",
        "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 5",
        lambda scene: scene.entity("a😀b", 0, 2),
    ),
    SceneRule("nothing_to_edit", "message to edit not found", lambda scene: scene.edit(99)),
    SceneRule("edit_of_others", "message can't be edited", edit_of_others),
    SceneRule("edit_without_text", "there is no text in the message to edit", edit_without_text),
    SceneRule(
        "unchanged",
        f"{_EDIT}as a current content and reply markup of the message",
        lambda scene: scene.edit(MINE, text="mine"),
    ),
    SceneRule(
        "no_delete_chat",
        "chat identifier is not specified",
        lambda scene: scene.call("deleteMessage", message_id=MINE),
    ),
    SceneRule(
        "no_delete_id",
        "message identifier is not specified",
        lambda scene: scene.call("deleteMessage", chat_id=PERSON),
    ),
    SceneRule("nothing_to_react", "message to react not found", nothing_to_react),
    SceneRule("reaction_refused", "REACTION_INVALID", reaction_refused),
    SceneRule("nothing_to_delete", "message to delete not found", lambda scene: scene.delete(PERSON, 99)),
    SceneRule(
        "delete_in_group",
        "message can't be deleted for everyone",
        lambda scene: delete_in(scene, supergroup=False),
    ),
    SceneRule(
        "delete_in_supergroup",
        "message can't be deleted",
        lambda scene: delete_in(scene, supergroup=True),
    ),
    SceneRule("delete_old", "message can't be deleted for everyone", delete_old),
    SceneRule("delete_old_in_supergroup", "message can't be deleted", delete_old_in_supergroup),
    SceneRule("delete_topic_start", "message can't be deleted", delete_topic_start),
    SceneRule("expired_query", _QUERY, expired_query),
    SceneRule("draft_in_group", "TEXTDRAFT_PEER_INVALID", draft_in_group),
    SceneRule("unknown_file", "invalid file_id", lambda scene: scene.call("getFile", file_id="nothing")),
    SceneRule(
        "unknown_media",
        "wrong file identifier/HTTP URL specified",
        lambda scene: scene.call("sendDocument", chat_id=PERSON, document="nothing"),
    ),
    SceneRule("file_too_big", "file is too big", file_too_big),
    SceneRule("upload_too_big", "Request Entity Too Large", upload_too_big, 413),
    SceneRule("photo_too_big", _PHOTO, photo_too_big),
    SceneRule(
        "empty_file", "file must be non-empty", lambda scene: scene.upload("sendDocument", "document", b"")
    ),
    SceneRule(
        "no_file",
        "there is no document in the request",
        lambda scene: scene.call("sendDocument", chat_id=PERSON),
    ),
    SceneRule(
        "no_media",
        "can't parse InputMedia: media not found",
        lambda scene: scene.call("sendMediaGroup", **_MISSING_MEDIA),
    ),
    SceneRule(
        "no_picture", "IMAGE_PROCESS_FAILED", lambda scene: scene.upload("sendPhoto", "photo", b"no picture")
    ),
    SceneRule("unknown_method", "method not found", lambda scene: scene.call("sendNothing"), 404),
    SceneRule("webhook_active", _HOOKED, webhook_active, 409),
    SceneRule("other_poller", _POLLED, lambda scene: end_poll(scene, "getUpdates"), 409),
    SceneRule(
        "webhook_set",
        "terminated by setWebhook request",
        lambda scene: end_poll(scene, "setWebhook", url="http://127.0.0.1:9"),
        409,
    ),
)
