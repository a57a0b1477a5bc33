"""Messages as the Events API writes them and as a person sees them."""

from __future__ import annotations

from typing import Any

from roebot_testing.emulators.slack.state import SlackChannel, SlackChatMessage, SlackFile
from roebot_testing.emulators.slack.workspace import APP_ID, BOT_ID


def file_wire(file: SlackFile, origin: str, *, brief: bool = False) -> dict[str, Any]:
    """Build the `file` object; `brief` has only the id, as in shared channels."""
    if brief:
        return {"id": file.id, "file_access": "check_file_info"}
    address = f"{origin}{file.path}"
    return {
        "id": file.id,
        "name": file.name,
        "title": file.title or file.name,
        "mimetype": file.mime,
        "filetype": file.name.rpartition(".")[2],
        "size": len(file.data),
        "mode": "hosted",
        "url_private": address,
        "url_private_download": address,
        **file.details,
    }


def message_wire(
    message: SlackChatMessage, channel: SlackChannel, origin: str, *, metadata: bool = False
) -> dict[str, Any]:
    """Build a message as `conversations.replies` and events have it."""
    wire: dict[str, Any] = {
        "type": "message",
        "user": message.user.id,
        "ts": message.ts,
        "text": message.text,
        "team": message.user.team,
    }
    if message.user.is_bot:
        wire |= _app_wire(message)
    if message.subtype:
        wire["subtype"] = message.subtype
    if message.subtype == "bot_message":
        # An incoming webhook: neither its person nor its app is described.
        del wire["user"], wire["bot_profile"]
    if message.blocks:
        wire["blocks"] = message.blocks
    if message.files:
        brief = channel.shared
        wire["files"] = [file_wire(file, origin, brief=brief) for file in message.files]
    if message.attachments:
        wire["attachments"] = message.attachments
    if message.edits:
        wire["edited"] = {"user": message.edited_by, "ts": message.ts}
    if metadata and message.metadata:
        wire["metadata"] = message.metadata
    return wire | _thread(message, channel, origin)


def _app_wire(message: SlackChatMessage) -> dict[str, Any]:
    """Build the app's data in a message, in the current format of app messages."""
    user = message.user
    bot_id, app_id = user.bot_id or BOT_ID, user.app_id or APP_ID
    profile = {"id": bot_id, "app_id": app_id, "name": user.name, "deleted": False, "team_id": user.team}
    wire: dict[str, Any] = {"bot_id": bot_id, "app_id": app_id, "bot_profile": profile}
    return wire | ({"username": message.username} if message.username else {})


def _thread(message: SlackChatMessage, channel: SlackChannel, origin: str) -> dict[str, Any]:
    if message.thread_ts:
        root = channel.messages.get(message.thread_ts)
        parent: dict[str, Any] = {"parent_user_id": root.user.id} if root else {}
        if root and message.subtype == "thread_broadcast":
            parent["root"] = message_wire(root, channel, origin)
        return {"thread_ts": message.thread_ts, **parent}
    replies = [other for other in channel.messages.values() if other.thread_ts == message.ts]
    if not replies:
        return {}
    users = list(dict.fromkeys(other.user.id for other in replies))[:5]
    return {"thread_ts": message.ts, "reply_count": len(replies), "reply_users": users}


def seen(message: SlackChatMessage, now: float, lifetime: float) -> dict[str, Any]:
    """Return a message as a person sees it now."""
    stream = message.stream
    return {
        "ts": message.ts,
        "user": message.user.id,
        "name": message.user.name,
        "from_bot": message.user.is_bot,
        "text": message.text,
        "thread_ts": message.thread_ts,
        "edits": message.edits,
        "streaming": bool(stream and not stream.ended and now - stream.started < lifetime),
        "streamed": stream is not None,
        "files": [file.name for file in message.files],
        "blocks": message.blocks,
        "tasks": list(message.tasks.values()),
        "plan": message.plan,
        "metadata": message.metadata,
        "visible_to": message.visible_to,
    }


def view(channel: SlackChannel, now: float, lifetime: float) -> dict[str, Any]:
    """Return a channel as a person sees it now."""
    return {
        "channel": channel.id,
        "kind": channel.kind,
        "name": channel.name,
        "messages": [seen(message, now, lifetime) for message in channel.messages.values()],
        "statuses": {thread: status for thread, status in channel.statuses.items() if status},
        "sessions": {
            thread: {"status": one.status, "title": one.title, "initiator": one.initiator}
            for thread, one in channel.sessions.items()
        },
        "prompts": channel.prompts,
    }
