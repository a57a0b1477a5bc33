"""Methods other than `chat.*` and of agents: identity, conversations, people, files, status line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.slack import chat, reactions, sessions
from roebot_testing.emulators.slack.calls import SlackCall, SlackMethod
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.state import IM, SlackChannel, SlackChatMessage
from roebot_testing.emulators.slack.wire import file_wire, message_wire
from roebot_testing.emulators.slack.workspace import APP_ID, BOT_ID
from roebot_testing.emulators.transcript import FrameKind

MAX_USERS = 8
"""People in a conversation that is opened (docs.slack.dev, conversations.open, too_many_users)."""
SNIPPET_BYTES = 1024 * 1024
"""Bytes of a snippet (docs.slack.dev, files.getUploadURLExternal, snippet_too_large)."""
_TS = re.compile(r"\d+(\.\d+)?")
_CURSOR = "next:"


def auth_test(call: SlackCall) -> CallResult:
    """auth.test."""
    bot = call.world.bot
    return CallResult(
        {
            "url": f"{call.origin}/",
            "team": "Emulated workspace",
            "user": bot.name,
            "team_id": call.world.team,
            "user_id": bot.id,
            "bot_id": BOT_ID,
            "app_id": APP_ID,
            "is_enterprise_install": False,
        }
    )


def replies(call: SlackCall) -> CallResult:
    """conversations.replies: a thread's root, then its replies newer than `oldest`, in pages."""
    channel = call.world.channel(call.values.get("channel"))
    root = channel.messages.get(call.text("ts"))
    if root is None:
        raise SlackApiError("thread_not_found")
    below = [message for message in channel.messages.values() if message.thread_ts == root.ts]
    page, following = _page(call, below, 1000)
    return _messages(call, channel, [root, *page], following)


def history(call: SlackCall) -> CallResult:
    """conversations.history: messages outside threads, newest first, in pages of at most 999."""
    channel = call.world.channel(call.values.get("channel"))
    outside = [message for message in reversed(channel.messages.values()) if not message.thread_ts]
    page, following = _page(call, outside, 100, most=999)
    return _messages(call, channel, page, following)


def _page(
    call: SlackCall, messages: Sequence[SlackChatMessage], usual: int, most: int = 1000
) -> tuple[Sequence[SlackChatMessage], str]:
    """Return a page of the messages between `oldest` and `latest`, and the cursor of the next one."""
    for name in ("oldest", "latest"):
        if call.text(name) and not _TS.fullmatch(call.text(name)):
            raise SlackApiError(f"invalid_ts_{name}")
    oldest, latest = call.text("oldest") or "0", call.text("latest")
    visible = [one for one in messages if not one.visible_to]
    wanted = [one for one in visible if one.ts > oldest and (not latest or one.ts < latest)]
    start, cursor = 0, call.text("cursor")
    if cursor:
        place = cursor.removeprefix(_CURSOR)
        if place == cursor or not place.isdecimal():
            raise SlackApiError("invalid_cursor")
        start = int(place)
    end = start + min(call.number("limit", usual), most)
    return wanted[start:end], f"{_CURSOR}{end}" if end < len(wanted) else ""


def _messages(
    call: SlackCall, channel: SlackChannel, messages: Sequence[SlackChatMessage], following: str
) -> CallResult:
    metadata = call.flag("include_all_metadata")
    wires = [message_wire(message, channel, call.origin, metadata=metadata) for message in messages]
    more = {"has_more": bool(following), "response_metadata": {"next_cursor": following}}
    return CallResult({"messages": wires, **more}, channel.id)


def info(call: SlackCall) -> CallResult:
    """conversations.info."""
    channel = call.world.known(call.values.get("channel"))
    return CallResult(
        {
            "channel": {
                "id": channel.id,
                "name": channel.name,
                "is_im": channel.kind == IM,
                "is_mpim": channel.kind == "mpim",
                "is_channel": channel.kind == "channel",
                "is_private": channel.kind != "channel",
                "is_archived": channel.archived,
                "is_member": channel.bot_in,
                "is_ext_shared": channel.shared,
                **({"num_members": len(channel.members)} if call.flag("include_num_members") else {}),
            }
        },
        channel.id,
    )


def open_direct(call: SlackCall) -> CallResult:
    """conversations.open with one person."""
    wanted = [user for user in call.text("users").split(",") if user]
    if not wanted:
        raise SlackApiError("users_list_not_supplied")
    if len(wanted) > MAX_USERS:
        raise SlackApiError("too_many_users")
    user = call.world.users.get(wanted[0])
    if user is None or len(wanted) > 1:
        raise SlackApiError("user_not_found")
    if user.is_deactivated:
        raise SlackApiError("user_disabled")
    channel = call.world.private(user)
    return CallResult({"channel": {"id": channel.id}}, channel.id)


def user_info(call: SlackCall) -> CallResult:
    """users.info."""
    user = call.world.users.get(call.text("user"))
    if user is None:
        raise SlackApiError("user_not_found")
    return CallResult(
        {"user": {**user.wire(), **({"locale": user.locale} if call.flag("include_locale") else {})}}
    )


def bot_info(call: SlackCall) -> CallResult:
    """bots.info: an app by the id of its bot."""
    for user in call.world.users.values():
        if user.bot_id and user.bot_id == call.text("bot"):
            bot = {"id": user.bot_id, "deleted": False, "name": user.name, "app_id": user.app_id}
            return CallResult({"bot": {**bot, "user_id": user.id}})
    raise SlackApiError("bot_not_found")


def usergroups(call: SlackCall) -> CallResult:
    """usergroups.list: the groups of the workspace, with their members on request."""
    found = [
        {"id": group, "handle": call.world.handles.get(group, group.lower()), "date_delete": 0}
        | ({"users": members} if call.flag("include_users") else {})
        for group, members in call.world.usergroups.items()
    ]
    return CallResult({"usergroups": found})


def usergroup_users(call: SlackCall) -> CallResult:
    """usergroups.users.list: the members of one group."""
    members = call.world.usergroups.get(call.text("usergroup"))
    if members is None:
        raise SlackApiError("no_such_subteam")
    return CallResult({"users": members})


def set_status(call: SlackCall) -> CallResult:
    """assistant.threads.setStatus: shown until the next message in the thread."""
    channel = call.world.channel(call.values.get("channel_id"))
    thread = call.text("thread_ts")
    if thread not in channel.messages:
        raise SlackApiError("invalid_thread_ts")
    channel.statuses[thread] = " · ".join([call.text("status"), *(call.json("loading_messages") or [])])
    return CallResult({}, channel.id, thread, call.text("status"))


def upload_url(call: SlackCall) -> CallResult:
    """files.getUploadURLExternal: the URL for the bytes."""
    if call.text("snippet_type") and call.number("length", 0) > SNIPPET_BYTES:
        raise SlackApiError("snippet_too_large")
    file = call.world.store(call.text("filename"), "application/octet-stream", b"")
    return CallResult({"upload_url": f"{call.origin}/upload/v1/{file.id}", "file_id": file.id})


def complete_upload(call: SlackCall) -> CallResult:
    """files.completeUploadExternal: the uploaded files become a message."""
    wanted = call.json("files") or []
    files = [call.world.files.get(str(item.get("id"))) for item in wanted]
    if not files or any(file is None or not file.data or file.complete for file in files):
        raise SlackApiError("file_not_found")
    found = [file for file in files if file is not None]
    for file, item in zip(found, wanted, strict=True):
        file.complete, file.title = True, str(item.get("title") or file.name)
    wires = [file_wire(file, call.origin) for file in found]
    if not call.text("channel_id"):
        return CallResult({"files": wires})
    channel = call.world.channel(call.values.get("channel_id"))
    message = call.world.add(
        channel,
        call.world.bot,
        call.text("initial_comment"),
        thread_ts=call.text("thread_ts"),
        subtype="file_share",
        files=found,
    )
    channel.statuses.pop(message.thread_ts, None)
    call.announce(channel, message)
    return CallResult({"files": wires}, channel.id, message.ts, found[0].name)


def file_info(call: SlackCall) -> CallResult:
    """files.info."""
    file = call.world.files.get(call.text("file"))
    if file is None:
        raise SlackApiError("file_not_found")
    shares: dict[str, dict[str, list[dict[str, str]]]] = {"public": {}}
    for channel in call.world.channels.values():
        for message in channel.messages.values():
            if file in message.files:
                shares["public"].setdefault(channel.id, []).append(
                    {"ts": message.ts, "thread_ts": message.thread_ts}
                )
    return CallResult({"file": {**file_wire(file, call.origin), "shares": shares}})


METHODS = {
    **chat.METHODS,
    **reactions.METHODS,
    **sessions.METHODS,
    "auth.test": SlackMethod(auth_test, 0),
    "conversations.replies": SlackMethod(replies, 50),
    "conversations.history": SlackMethod(history, 50),
    "conversations.info": SlackMethod(info, 50),
    "conversations.open": SlackMethod(open_direct, 50),
    "users.info": SlackMethod(user_info, 100),
    "bots.info": SlackMethod(bot_info, 50),
    "usergroups.list": SlackMethod(usergroups, 20),
    "usergroups.users.list": SlackMethod(usergroup_users, 20),
    "assistant.threads.setStatus": SlackMethod(set_status, 0, FrameKind.TYPING),
    "files.getUploadURLExternal": SlackMethod(upload_url, 100),
    "files.completeUploadExternal": SlackMethod(complete_upload, 100, FrameKind.POST),
    "files.info": SlackMethod(file_info, 100),
}
"""Calls a minute by tier; 0: of a special tier (see `api`)."""
