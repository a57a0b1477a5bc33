"""Each refusal of the emulator that depends on a token, a permission or a state, and what is just allowed.

`DiscordRefusal` names the sources; `test_every_refusal_has_a_case` keeps this list complete.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.errors import DiscordRefusal
from roebot_testing.emulators.discord.messages import FILE_LIMIT, STATE_RULES
from roebot_testing.emulators.discord.permissions import INVITED, NEEDS, BotPermission
from roebot_testing.emulators.discord.state import PINNED

EPHEMERAL = 1 << 6


class Server:
    """The emulator, a client with the bot's token, and a channel with a question in it."""

    def __init__(self, emulator: DiscordEmulator, api: httpx.AsyncClient) -> None:
        self.emulator, self.people, self.api = emulator, emulator.people, api
        self.chat = self.people.make_group()
        self.asked = self.people.says("hi", chat=self.chat).id
        self.hook = ""

    async def posts(self, chat: int = 0, **body: Any) -> httpx.Response:
        return await self.api.post(f"/channels/{chat or self.chat}/messages", json=body or {"content": "x"})

    async def uploads(self, *sizes: int, **body: Any) -> httpx.Response:
        files = [(f"files[{number}]", ("a", b"a" * size)) for number, size in enumerate(sizes)]
        data = {"payload_json": json.dumps(body or {"content": "x"})}
        return await self.api.post(f"/channels/{self.chat}/messages", data=data, files=files)

    async def reacts(self, emoji: str) -> httpx.Response:
        return await self.api.put(f"/channels/{self.chat}/messages/{self.asked}/reactions/{emoji}/@me")

    async def own(self, chat: int = 0) -> str:
        """Return the path of a new message of the bot."""
        posted = await self.posts(chat)
        return f"/channels/{chat or self.chat}/messages/{posted.json()['id']}"

    def callback(self) -> str:
        """Return the path to answer a new use of a command; `hook` is that of its further answers."""
        number = self.people.uses("status", chat=self.chat)
        token = next(reversed(self.emulator.world.interactions))
        self.hook = f"/webhooks/{self.emulator.world.bot.id}/{token}"
        return f"/interactions/{number}/{token}/callback"

    def ages(self, seconds: float) -> None:
        """Make the newest interaction older."""
        next(reversed(self.emulator.world.interactions.values())).made_at -= seconds

    async def private_answer(self) -> str:
        """Return the path of an answer that one person alone sees."""
        body = {"type": 4, "data": {"content": "secret", "flags": EPHEMERAL}}
        await self.api.post(self.callback(), json=body)
        answer = next(reversed(self.emulator.world.interactions.values())).answer
        assert answer is not None
        return f"/channels/{self.chat}/messages/{answer.id}"

    def thread(self) -> int:
        return self.people.make_thread(self.chat)

    def removed(self) -> None:
        guild = self.emulator.world.channels[self.chat].guild
        assert guild is not None
        self.people.removes_bot(guild.id)


Act = Callable[[Server], Awaitable[httpx.Response]]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with DiscordEmulator.serve(limits=False) as emulator:
        headers = {"Authorization": f"Bot {emulator.token}"}
        async with httpx.AsyncClient(base_url=emulator.url, headers=headers, trust_env=False) as api:
            yield Server(emulator, api)


async def without_token(s: Server) -> httpx.Response:
    return await s.api.get("/users/@me", headers={"Authorization": "Bot x"})


async def no_route(s: Server) -> httpx.Response:
    return await s.api.get("/nothing")


async def unknown_channel(s: Server) -> httpx.Response:
    return await s.api.get("/channels/5")


async def unknown_guild(s: Server) -> httpx.Response:
    return await s.api.get("/guilds/5/roles")


async def unknown_member(s: Server) -> httpx.Response:
    guild = s.emulator.world.channels[s.chat].guild
    assert guild is not None
    return await s.api.get(f"/guilds/{guild.id}/members/5")


async def unknown_message(s: Server) -> httpx.Response:
    return await s.api.get(f"/channels/{s.chat}/messages/5")


async def private_edit(s: Server) -> httpx.Response:
    return await s.api.patch(await s.private_answer(), json={"content": "public"})


async def private_deletion(s: Server) -> httpx.Response:
    return await s.api.delete(await s.private_answer())


async def early_followup(s: Server) -> httpx.Response:
    s.callback()
    return await s.api.post(s.hook, json={"content": "early"})


async def late_answer(s: Server) -> httpx.Response:
    path = s.callback()
    s.ages(3.5)
    return await s.api.post(path, json={"type": 5})


async def second_answer(s: Server) -> httpx.Response:
    path = s.callback()
    await s.api.post(path, json={"type": 5})
    return await s.api.post(path, json={"type": 5})


async def late_followup(s: Server) -> httpx.Response:
    await s.api.post(s.callback(), json={"type": 5})
    s.ages(15 * 60 + 1)
    return await s.api.post(s.hook, json={"content": "late"})


async def eleven_files(s: Server) -> httpx.Response:
    return await s.uploads(*[1] * 11)


async def large_file(s: Server) -> httpx.Response:
    return await s.uploads(FILE_LIMIT + 1)


async def large_request(s: Server) -> httpx.Response:
    return await s.uploads(*[FILE_LIMIT - 1] * 3)


async def commands(s: Server, *, count: int, kind: int = 1) -> httpx.Response:
    found = [{"name": f"c{n}", "type": kind, "description": "d" if kind == 1 else ""} for n in range(count)]
    return await s.api.put(f"/applications/{s.emulator.world.bot.id}/commands", json=found)


async def many_commands(s: Server) -> httpx.Response:
    return await commands(s, count=101)


async def many_menus(s: Server) -> httpx.Response:
    return await commands(s, count=16, kind=3)


async def left_server(s: Server) -> httpx.Response:
    s.removed()
    return await s.posts()


async def hidden_channel(s: Server) -> httpx.Response:
    s.people.denies(s.chat, ["VIEW_CHANNEL"])
    return await s.api.get(f"/channels/{s.chat}")


async def others_message(s: Server) -> httpx.Response:
    return await s.api.patch(f"/channels/{s.chat}/messages/{s.asked}", json={"content": "mine"})


async def others_deletion(s: Server) -> httpx.Response:
    return await s.api.delete(f"/channels/{s.chat}/messages/{s.asked}")


async def empty_message(s: Server) -> httpx.Response:
    return await s.posts(content=" ")


async def emptied_message(s: Server) -> httpx.Response:
    return await s.api.patch(await s.own(), json={"content": ""})


async def forum(s: Server) -> httpx.Response:
    guild = s.people.make_guild()
    return await s.posts(s.people.make_channel(guild, "ideas", forum=True))


async def thread_in_direct(s: Server) -> httpx.Response:
    chat = s.people.dm()
    asked = s.people.says("hi")
    return await s.api.post(f"/channels/{chat}/messages/{asked.id}/threads", json={"name": "t"})


async def strangers_direct(s: Server) -> httpx.Response:
    return await s.api.post("/users/@me/channels", json={"recipient_id": "5"})


async def broken_form(s: Server) -> httpx.Response:
    path = f"/channels/{s.chat}/messages"
    return await s.api.post(path, data={"payload_json": "{"}, files={"files[0]": ("a", b"a")})


async def broken_json(s: Server) -> httpx.Response:
    headers = {"Content-Type": "application/json"}
    return await s.api.post(f"/channels/{s.chat}/messages", content=b"{", headers=headers)


async def archived_edit(s: Server) -> httpx.Response:
    thread = s.thread()
    path = await s.own(thread)
    s.people.archives(thread)
    return await s.api.patch(path, json={"content": "y"})


async def archived_deletion(s: Server) -> httpx.Response:
    thread = s.thread()
    path = await s.own(thread)
    s.people.archives(thread)
    return await s.api.delete(path)


async def archived_command(s: Server) -> httpx.Response:
    s.chat = s.thread()
    path = s.callback()
    s.people.archives(s.chat, locked=True)
    return await s.api.post(path, json={"type": 5})


async def reply_without_history(s: Server) -> httpx.Response:
    s.people.denies(s.chat, ["READ_MESSAGE_HISTORY"])
    return await s.posts(content="x", message_reference={"message_id": str(s.asked)})


async def second_thread(s: Server) -> httpx.Response:
    s.people.permits(s.chat, ["CREATE_PUBLIC_THREADS"])
    path = f"/channels/{s.chat}/messages/{s.asked}/threads"
    assert (await s.api.post(path, json={"name": "one"})).status_code == 200
    return await s.api.post(path, json={"name": "two"})


async def locked_post(s: Server) -> httpx.Response:
    thread = s.thread()
    s.people.archives(thread, locked=True)
    return await s.posts(thread)


async def locked_edit(s: Server) -> httpx.Response:
    thread = s.thread()
    path = await s.own(thread)
    s.people.archives(thread, locked=True)
    return await s.api.patch(path, json={"content": "y"})


async def unknown_emoji(s: Server) -> httpx.Response:
    return await s.reacts("eyes")


async def strange_emoji(s: Server) -> httpx.Response:
    assert (await s.reacts("👀")).status_code == 204
    assert (await s.reacts("👀")).status_code == 204
    return await s.reacts("party:123456789012345678")


CASES: tuple[tuple[DiscordRefusal, Act], ...] = (
    (DiscordRefusal.UNAUTHORIZED, without_token),
    (DiscordRefusal.NOT_FOUND, no_route),
    (DiscordRefusal.UNKNOWN_CHANNEL, unknown_channel),
    (DiscordRefusal.UNKNOWN_GUILD, unknown_guild),
    (DiscordRefusal.UNKNOWN_MEMBER, unknown_member),
    (DiscordRefusal.UNKNOWN_MESSAGE, unknown_message),
    (DiscordRefusal.UNKNOWN_MESSAGE, private_edit),
    (DiscordRefusal.UNKNOWN_MESSAGE, private_deletion),
    (DiscordRefusal.UNKNOWN_EMOJI, unknown_emoji),
    (DiscordRefusal.UNKNOWN_EMOJI, strange_emoji),
    (DiscordRefusal.UNKNOWN_WEBHOOK, early_followup),
    (DiscordRefusal.UNKNOWN_INTERACTION, late_answer),
    (DiscordRefusal.TOO_MANY_ATTACHMENTS, eleven_files),
    (DiscordRefusal.TOO_MANY_COMMANDS, many_commands),
    (DiscordRefusal.TOO_MANY_COMMANDS, many_menus),
    (DiscordRefusal.TOO_LARGE, large_file),
    (DiscordRefusal.TOO_LARGE, large_request),
    (DiscordRefusal.ALREADY_ACKNOWLEDGED, second_answer),
    (DiscordRefusal.MISSING_ACCESS, left_server),
    (DiscordRefusal.MISSING_ACCESS, hidden_channel),
    (DiscordRefusal.OTHER_AUTHOR, others_message),
    (DiscordRefusal.EMPTY_MESSAGE, empty_message),
    (DiscordRefusal.EMPTY_MESSAGE, emptied_message),
    (DiscordRefusal.NOT_A_TEXT_CHANNEL, forum),
    (DiscordRefusal.MISSING_PERMISSIONS, others_deletion),
    (DiscordRefusal.WRONG_CHANNEL_TYPE, thread_in_direct),
    (DiscordRefusal.INVALID_WEBHOOK_TOKEN, late_followup),
    (DiscordRefusal.INVALID_RECIPIENT, strangers_direct),
    (DiscordRefusal.INVALID_FORM, broken_form),
    (DiscordRefusal.THREAD_ARCHIVED, archived_edit),
    (DiscordRefusal.THREAD_ARCHIVED, archived_deletion),
    (DiscordRefusal.THREAD_ARCHIVED, archived_command),
    (DiscordRefusal.NO_JSON, broken_json),
    (DiscordRefusal.NO_HISTORY, reply_without_history),
    (DiscordRefusal.THREAD_EXISTS, second_thread),
    (DiscordRefusal.THREAD_LOCKED, locked_post),
    (DiscordRefusal.THREAD_LOCKED, locked_edit),
)


def test_every_refusal_has_a_case() -> None:
    assert {refusal for refusal, _ in CASES} == set(DiscordRefusal)


@pytest.mark.parametrize(("refusal", "act"), CASES, ids=lambda one: getattr(one, "__name__", None))
async def test_a_state_refuses_what_it_does_not_allow(
    refusal: DiscordRefusal, act: Act, server: Server
) -> None:
    status, code, text = refusal.value
    refused = await act(server)
    assert refused.status_code == status
    assert refused.json() == {"message": text, "code": code}


async def test_just_within_the_limits(server: Server) -> None:
    """Ten files, one of the greatest size, a hundred commands with fifteen for messages, a late follow-up."""
    assert (await server.uploads(*[1] * 10)).status_code == 200
    assert (await server.uploads(FILE_LIMIT)).status_code == 200
    assert (await commands(server, count=100)).status_code == 200
    assert (await commands(server, count=15, kind=3)).status_code == 200
    path = server.callback()
    server.ages(2.5)
    assert (await server.api.post(path, json={"type": 5})).status_code == 204
    server.ages(14 * 60)
    assert (await server.api.post(server.hook, json={"content": "in time"})).status_code == 200


async def test_a_private_answer_is_changed_with_its_token(server: Server) -> None:
    path = await server.private_answer()
    assert (await server.api.get(path)).status_code == 404, "a channel does not know what one person sees"
    original = f"{server.hook}/messages/@original"
    assert (await server.api.get(original)).json()["flags"] == EPHEMERAL
    assert (await server.api.patch(original, json={"content": "still secret"})).status_code == 200
    assert (await server.api.delete(original)).status_code == 204


async def test_an_interaction_changes_only_messages_of_its_webhook(server: Server) -> None:
    await server.api.post(server.callback(), json={"type": 5})
    number = (await server.own()).rpartition("/")[2]
    path = f"{server.hook}/messages/{number}"
    for found in (await server.api.patch(path, json={"content": "y"}), await server.api.delete(path)):
        assert (found.status_code, found.json()["code"]) == (404, DiscordRefusal.UNKNOWN_MESSAGE.value[1])


async def test_a_private_followup_is_deleted_with_its_token(server: Server) -> None:
    """discord-api-docs#5570"""
    await server.private_answer()
    sent = await server.api.post(server.hook, json={"content": "more", "flags": EPHEMERAL})
    assert (await server.api.delete(f"{server.hook}/messages/{sent.json()['id']}")).status_code == 204


async def test_writing_opens_an_archived_thread(server: Server) -> None:
    thread = server.thread()
    server.people.archives(thread)
    path = await server.own(thread)
    assert not server.emulator.world.channels[thread].archived
    assert (await server.api.patch(path, json={"content": "y"})).status_code == 200
    server.people.archives(thread)
    assert (await server.api.patch(f"/channels/{thread}", json={"archived": False})).status_code == 200
    assert (await server.api.patch(path, json={"content": "z"})).status_code == 200
    server.people.archives(thread, locked=True)
    refused = await server.api.patch(f"/channels/{thread}", json={"archived": False})
    assert refused.json()["code"] == 50013
    server.people.permits(server.chat, ["MANAGE_THREADS"])
    assert (await server.posts(thread)).status_code == 200


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ({"message_id": "5"}, "MESSAGE_REFERENCE_UNKNOWN_MESSAGE"),
        ({"message_id": "notice"}, "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE"),
        ({"message_id": "5", "channel_id": "6"}, "REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL"),
    ],
)
async def test_what_cannot_be_replied_to(server: Server, reference: dict[str, str], code: str) -> None:
    notice = server.people.says(chat=server.chat, kind=PINNED)
    wanted = {name: value.replace("notice", str(notice.id)) for name, value in reference.items()}
    refused = await server.posts(content="x", message_reference=wanted)
    assert refused.json()["code"] == 50035
    [error] = refused.json()["errors"]["message_reference"]["_errors"]
    known = {one.code: one.message for one in STATE_RULES}
    assert error == {"code": code, "message": known[code]}
    passed = await server.posts(content="x", message_reference={"message_id": str(server.asked)})
    assert passed.json()["message_reference"]["message_id"] == str(server.asked)


async def test_attachments_have_files(server: Server) -> None:
    refused = await server.uploads(1, content="x", attachments=[{"id": 0}, {"id": 1}])
    assert refused.json()["errors"] == {
        "attachments": {
            "1": {"_errors": [{"code": "ATTACHMENT_NOT_FOUND", "message": "Attachment data not found"}]}
        }
    }
    assert (await server.uploads(1, content="x", attachments=[{"id": 0}])).status_code == 200


async def missing_send(s: Server) -> httpx.Response:
    return await s.posts()


async def missing_in_thread(s: Server) -> httpx.Response:
    return await s.posts(s.thread())


async def missing_files(s: Server) -> httpx.Response:
    return await s.uploads(1)


async def missing_embeds(s: Server) -> httpx.Response:
    return await s.posts(embeds=[{"title": "t"}])


async def missing_reply(s: Server) -> httpx.Response:
    return await s.posts(content="x", message_reference={"message_id": str(s.asked)})


async def missing_typing(s: Server) -> httpx.Response:
    return await s.api.post(f"/channels/{s.chat}/typing")


async def missing_typing_in_thread(s: Server) -> httpx.Response:
    return await s.api.post(f"/channels/{s.thread()}/typing")


async def missing_history(s: Server) -> httpx.Response:
    return await s.api.get(f"/channels/{s.chat}/messages/{s.asked}")


async def missing_reaction(s: Server) -> httpx.Response:
    return await s.reacts("👀")


async def missing_thread(s: Server) -> httpx.Response:
    path = f"/channels/{s.chat}/messages/{s.asked}/threads"
    return await s.api.post(path, json={"name": "t"})


NEEDED: tuple[tuple[str, BotPermission, Act], ...] = (
    ("createMessage", BotPermission.SEND_MESSAGES, missing_send),
    ("createMessage", BotPermission.SEND_MESSAGES_IN_THREADS, missing_in_thread),
    ("createMessage", BotPermission.ATTACH_FILES, missing_files),
    ("createMessage", BotPermission.EMBED_LINKS, missing_embeds),
    ("createMessage", BotPermission.READ_MESSAGE_HISTORY, missing_reply),
    ("typing", BotPermission.SEND_MESSAGES, missing_typing),
    ("typing", BotPermission.SEND_MESSAGES_IN_THREADS, missing_typing_in_thread),
    ("addReaction", BotPermission.READ_MESSAGE_HISTORY, missing_reaction),
    ("addReaction", BotPermission.ADD_REACTIONS, missing_reaction),
    ("getMessage", BotPermission.READ_MESSAGE_HISTORY, missing_history),
    ("startThread", BotPermission.CREATE_PUBLIC_THREADS, missing_thread),
)


def test_every_permission_has_a_case() -> None:
    needed = [(route, need.permission) for route, needs in NEEDS.items() for need in needs]
    assert sorted(needed) == sorted((route, permission) for route, permission, _ in NEEDED)
    assert all(need.source for needs in NEEDS.values() for need in needs)


@pytest.mark.parametrize(("route", "permission", "act"), NEEDED)
async def test_a_call_needs_its_permission(
    server: Server, route: str, permission: BotPermission, act: Act
) -> None:
    [refusal] = [need.refusal for need in NEEDS[route] if need.permission is permission]
    everything = [one.name for one in BotPermission if one.name]
    server.people.permits(server.chat, everything)
    assert (await act(server)).status_code < 300
    server.people.denies(server.chat, [str(permission.name)])
    server.asked = server.people.says("again", chat=server.chat).id
    refused = await act(server)
    assert (refused.status_code, refused.json()["code"], refused.json()["message"]) == refusal.value


async def test_without_history_a_channel_is_empty(server: Server) -> None:
    path = f"/channels/{server.chat}/messages"
    assert len((await server.api.get(path)).json()) == 1
    server.people.denies(server.chat, ["READ_MESSAGE_HISTORY"])
    assert (await server.api.get(path)).json() == []


async def test_the_bot_has_what_the_setup_link_asks_for(server: Server) -> None:
    from bot.platforms.discord.invite import USES

    assert sum(USES) == int(INVITED)
    server.people.permits(server.chat, ["MANAGE_MESSAGES"])
    assert (await others_deletion(server)).status_code == 204
