"""`chat.*`: posts, updates, deletions and native streams."""

from __future__ import annotations

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.slack.calls import SlackCall, SlackMethod
from roebot_testing.emulators.slack.content import (
    DISPLAYS,
    blocks_of,
    check_room,
    content_of,
    delta_of,
    grow,
    metadata_of,
)
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.sessions import ACTIVE, begin_stream, check_status, end_stream
from roebot_testing.emulators.slack.state import IM, SlackChannel, SlackChatMessage, Stream
from roebot_testing.emulators.slack.wire import message_wire
from roebot_testing.emulators.transcript import FrameKind


def post_message(call: SlackCall) -> CallResult:
    """chat.postMessage."""
    channel = call.world.channel(call.values.get("channel"))
    text, markdown = content_of(call)
    message = call.world.add(
        channel,
        call.world.bot,
        text,
        markdown=markdown,
        thread_ts=_thread(call, channel),
        blocks=blocks_of(call),
        metadata=metadata_of(call) or {},
        unfurls=call.unfurls,
    )
    _preview(call, message)
    return _posted(call, channel, message)


def post_ephemeral(call: SlackCall) -> CallResult:
    """chat.postEphemeral: visible to one person, in a thread only if it has replies; no method finds it
    again."""
    channel = call.world.channel(call.values.get("channel"))
    user = call.world.users.get(call.text("user"))
    if user is None or user.id not in channel.members:
        raise SlackApiError("user_not_in_channel")
    text, markdown = content_of(call)
    thread, ts = _thread(call, channel), call.world.ts()
    if not thread or any(one.thread_ts == thread and not one.visible_to for one in channel.messages.values()):
        more = {"markdown": markdown, "thread_ts": thread, "blocks": blocks_of(call), "visible_to": user.id}
        ts = call.world.add(channel, call.world.bot, text, **more).ts
    return CallResult({"message_ts": ts}, channel.id, ts, text)


def update(call: SlackCall) -> CallResult:
    """chat.update, which accepts a conversation's id but not a person's."""
    if call.text("channel") not in call.world.channels:
        raise SlackApiError("channel_not_found")
    channel = call.world.known(call.text("channel"))
    if channel.archived:
        raise SlackApiError("is_inactive")
    message = call.world.own(call.world.channel(channel.id), call.values.get("ts"))
    if message.stream and not _expired(call, message):
        raise SlackApiError("streaming_state_conflict")
    text, markdown = content_of(call)
    metadata = metadata_of(call)
    message.text, message.markdown = text, markdown
    message.tasks, message.plan = {}, ""
    message.blocks = blocks_of(call)
    message.metadata = message.metadata if metadata is None else metadata
    message.edits += 1
    message.edited_by = call.world.bot.id
    _preview(call, message)
    return CallResult({"channel": channel.id, "ts": message.ts, "text": text}, channel.id, message.ts, text)


def delete(call: SlackCall) -> CallResult:
    """chat.delete."""
    channel = call.world.channel(call.values.get("channel"))
    message = channel.messages.get(call.text("ts"))
    if message is None or message.visible_to:
        raise SlackApiError("message_not_found")
    if message.user is not call.world.bot:
        raise SlackApiError("cant_delete_message")
    del channel.messages[message.ts]
    return CallResult({"channel": channel.id, "ts": message.ts}, channel.id, message.ts)


def start_stream(call: SlackCall) -> CallResult:
    """chat.startStream: a message that grows, as a reply in a thread."""
    if not call.world.takes_markdown:
        raise SlackApiError("unknown_method")
    channel = call.world.channel(call.values.get("channel"))
    thread = _thread(call, channel)
    if not thread:
        raise SlackApiError("invalid_thread_ts")
    if channel.kind != IM:
        for needed in ("recipient_user_id", "recipient_team_id"):
            if not call.text(needed):
                raise SlackApiError(f"missing_{needed}")
        if call.text("recipient_user_id") not in call.world.users:
            raise SlackApiError("user_not_found")
    if call.text("task_display_mode") not in DISPLAYS:
        raise SlackApiError("invalid_arguments")
    delta = delta_of(call)
    stream = Stream(call.now, call.text("recipient_user_id"))
    more = {"markdown": True, "thread_ts": thread, "stream": stream, "unfurls": call.unfurls}
    message = call.world.add(channel, call.world.bot, "", **more)
    grow(message, delta)
    _preview(call, message)
    begin_stream(call, channel, thread)
    return _posted(call, channel, message)


def append_stream(call: SlackCall) -> CallResult:
    """chat.appendStream: add text or chunks at the end."""
    channel, message = _streaming(call)
    if message.stream and message.stream.stopped:
        raise SlackApiError("stopped_by_user")
    delta = delta_of(call)
    if not delta.mode:
        raise SlackApiError("no_text")
    check_room(message, delta)
    grow(message, delta)
    _preview(call, message)
    return CallResult({"channel": channel.id, "ts": message.ts}, channel.id, message.ts, message.text)


def stop_stream(call: SlackCall) -> CallResult:
    """chat.stopStream: append the last text and close the stream."""
    channel, message = _streaming(call)
    blocks, delta, metadata = blocks_of(call), delta_of(call), metadata_of(call)
    status = check_status(call.text("session_status") or ACTIVE)
    check_room(message, delta, blocks)
    grow(message, delta)
    _preview(call, message)
    message.metadata = metadata or message.metadata
    message.blocks = [*message.blocks, *blocks]
    if message.stream:
        message.stream.ended = True
    end_stream(call, channel, message.thread_ts, status)
    return CallResult(
        {"channel": channel.id, "ts": message.ts, "message": message_wire(message, channel, call.origin)},
        channel.id,
        message.ts,
        message.text,
    )


def _streaming(call: SlackCall) -> tuple[SlackChannel, SlackChatMessage]:
    channel = call.world.channel(call.values.get("channel"))
    message = channel.messages.get(call.text("ts"))
    if message is None:
        raise SlackApiError("message_not_found")
    if message.user is not call.world.bot:
        raise SlackApiError("message_not_owned_by_app")
    if message.stream is None or _expired(call, message):
        raise SlackApiError("message_not_in_streaming_state")
    return channel, message


def _preview(call: SlackCall, message: SlackChatMessage) -> None:
    """Fetch the links of a message, unless it was posted or is now changed without previews."""
    if message.unfurls and call.unfurls:
        call.world.previews.show(message.text)


def _expired(call: SlackCall, message: SlackChatMessage) -> bool:
    stream = message.stream
    if stream and call.now - stream.started >= call.lifetime:
        stream.ended = True
    return stream is None or stream.ended


def _thread(call: SlackCall, channel: SlackChannel) -> str:
    """Return the root of the thread; Slack requires the ts of the root itself."""
    thread = call.text("thread_ts")
    if not thread:
        return ""
    root = channel.messages.get(thread)
    if root is None or root.thread_ts:
        raise SlackApiError("thread_not_found")
    return thread


def _posted(call: SlackCall, channel: SlackChannel, message: SlackChatMessage) -> CallResult:
    channel.statuses.pop(message.thread_ts, None)
    call.announce(channel, message)
    wire = message_wire(message, channel, call.origin)
    body = {"channel": channel.id, "ts": message.ts, "message": wire}
    return CallResult(body, channel.id, message.ts, message.text)


METHODS = {
    "chat.postMessage": SlackMethod(post_message, 0, FrameKind.POST),
    "chat.postEphemeral": SlackMethod(post_ephemeral, 100, FrameKind.POST),
    "chat.update": SlackMethod(update, 50, FrameKind.EDIT),
    "chat.delete": SlackMethod(delete, 50, FrameKind.DELETE),
    "chat.startStream": SlackMethod(start_stream, 20, FrameKind.POST),
    "chat.appendStream": SlackMethod(append_stream, 100, FrameKind.EDIT),
    "chat.stopStream": SlackMethod(stop_stream, 20, FrameKind.EDIT),
}
"""Methods with their calls a minute by tier (docs.slack.dev, each method's page); postMessage has a rule of
one a second in a channel."""
