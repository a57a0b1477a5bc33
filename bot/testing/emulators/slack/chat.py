"""`chat.*`: posts, updates, deletions and native streams."""

from __future__ import annotations

from typing import Any

from bot.testing.emulators.slack.calls import Call, Done, Method
from bot.testing.emulators.slack.errors import ApiError
from bot.testing.emulators.slack.state import IM, Channel, Message, Stream
from bot.testing.emulators.slack.wire import message_wire
from bot.testing.emulators.transcript import FrameKind

MARKDOWN_LIMIT = 12_000
"""Characters of `markdown_text` in one call (docs.slack.dev, chat.postMessage and chat.startStream)."""
UPDATE_LIMIT = 4_000
"""Characters of `text` in chat.update (docs.slack.dev, chat.update)."""
TEXT_LIMIT = 40_000


def post_message(call: Call) -> Done:
    """chat.postMessage."""
    channel = call.world.channel(call.values.get("channel"))
    text, markdown = _content(call, TEXT_LIMIT)
    message = call.world.add(
        channel,
        call.world.bot,
        text,
        markdown=markdown,
        thread_ts=_thread(call, channel),
        blocks=_blocks(call),
        metadata=call.json("metadata") or {},
    )
    return _posted(call, channel, message)


def update(call: Call) -> Done:
    """chat.update."""
    channel = call.world.channel(call.values.get("channel"))
    message = call.world.own(channel, call.values.get("ts"))
    if message.stream and not _expired(call, message):
        raise ApiError("streaming_state_conflict")
    text, markdown = _content(call, UPDATE_LIMIT)
    message.text, message.markdown = text, markdown
    message.blocks = _blocks(call)
    message.metadata = call.json("metadata") or message.metadata
    message.edits += 1
    message.edited_by = call.world.bot.id
    return Done({"channel": channel.id, "ts": message.ts, "text": text}, channel.id, message.ts, text)


def delete(call: Call) -> Done:
    """chat.delete."""
    channel = call.world.channel(call.values.get("channel"))
    message = channel.messages.get(call.text("ts"))
    if message is None:
        raise ApiError("message_not_found")
    if message.user is not call.world.bot:
        raise ApiError("cant_delete_message")
    del channel.messages[message.ts]
    return Done({"channel": channel.id, "ts": message.ts}, channel.id, message.ts)


def start_stream(call: Call) -> Done:
    """chat.startStream: a message that grows, as a reply in a thread."""
    channel = call.world.channel(call.values.get("channel"))
    thread = _thread(call, channel)
    if not thread:
        raise ApiError("invalid_thread_ts")
    if channel.kind != IM:
        for needed in ("recipient_user_id", "recipient_team_id"):
            if not call.text(needed):
                raise ApiError(f"missing_{needed}")
    text, chunks = _delta(call)
    message = call.world.add(
        channel,
        call.world.bot,
        text,
        markdown=True,
        thread_ts=thread,
        chunks=chunks,
        stream=Stream(call.now, call.text("recipient_user_id")),
    )
    return _posted(call, channel, message)


def append_stream(call: Call) -> Done:
    """chat.appendStream: what is given is added at the end."""
    channel, message = _streaming(call)
    text, chunks = _delta(call)
    if not text and not chunks:
        raise ApiError("no_text")
    _grow(message, text, chunks)
    return Done({"channel": channel.id, "ts": message.ts}, channel.id, message.ts, message.text)


def stop_stream(call: Call) -> Done:
    """chat.stopStream: the last addition, and the end."""
    channel, message = _streaming(call)
    text, chunks = _delta(call)
    _grow(message, text, chunks)
    message.metadata = call.json("metadata") or message.metadata
    message.blocks = _blocks(call) or message.blocks
    if message.stream:
        message.stream.ended = True
    return Done(
        {"channel": channel.id, "ts": message.ts, "message": message_wire(message, channel, call.origin)},
        channel.id,
        message.ts,
        message.text,
    )


def _streaming(call: Call) -> tuple[Channel, Message]:
    channel = call.world.channel(call.values.get("channel"))
    message = channel.messages.get(call.text("ts"))
    if message is None:
        raise ApiError("message_not_found")
    if message.user is not call.world.bot:
        raise ApiError("message_not_owned_by_app")
    if message.stream is None or _expired(call, message):
        raise ApiError("message_not_in_streaming_state")
    return channel, message


def _expired(call: Call, message: Message) -> bool:
    stream = message.stream
    if stream and call.now - stream.started >= call.lifetime:
        stream.ended = True
    return stream is None or stream.ended


def _grow(message: Message, text: str, chunks: list[dict[str, Any]]) -> None:
    message.text += text
    message.chunks += chunks


def _delta(call: Call) -> tuple[str, list[dict[str, Any]]]:
    """The Markdown of a call, and those of its chunks that are no text."""
    chunks = call.json("chunks") or []
    if not isinstance(chunks, list) or not all(isinstance(chunk, dict) for chunk in chunks):
        raise ApiError("invalid_chunks")
    text = call.text("markdown_text") + "".join(
        str(chunk.get("text", "")) for chunk in chunks if chunk.get("type") == "markdown_text"
    )
    if len(text) > MARKDOWN_LIMIT:
        raise ApiError("msg_too_long")
    return text, [chunk for chunk in chunks if chunk.get("type") != "markdown_text"]


def _content(call: Call, limit: int) -> tuple[str, bool]:
    """The text of a post and whether it is Markdown."""
    markdown, text, blocks = call.text("markdown_text"), call.text("text"), _blocks(call)
    if markdown and (text or blocks):
        raise ApiError("markdown_text_conflict")
    if markdown:
        if len(markdown) > MARKDOWN_LIMIT:
            raise ApiError("msg_too_long")
        return markdown, True
    if len(text) > limit:
        raise ApiError("msg_too_long")
    if not text and not blocks:
        raise ApiError("no_text")
    written = [str(block.get("text", "")) for block in blocks if block.get("type") == "markdown"]
    return "\n\n".join(written) or text, bool(written)


def _blocks(call: Call) -> list[dict[str, Any]]:
    """The blocks of a call, within the limits of Block Kit that a bot can run into."""
    blocks = call.json("blocks") or []
    if not isinstance(blocks, list) or len(blocks) > 50:
        raise ApiError("invalid_blocks")
    for block in blocks:
        elements = block.get("elements") or []
        labels = [str(one.get("text", {}).get("text", "")) for one in elements if one.get("type") == "button"]
        values = [str(one.get("value", "")) for one in elements]
        if len(elements) > 25 or any(not 0 < len(label) <= 75 for label in labels):
            raise ApiError("invalid_blocks")
        if any(len(value) > 2000 for value in values) or len(str(block.get("text", ""))) > MARKDOWN_LIMIT:
            raise ApiError("invalid_blocks")
    return blocks


def _thread(call: Call, channel: Channel) -> str:
    """The root of the thread that is written into; Slack wants the root's own ts."""
    thread = call.text("thread_ts")
    if not thread:
        return ""
    root = channel.messages.get(thread)
    if root is None or root.thread_ts:
        raise ApiError("thread_not_found")
    return thread


def _posted(call: Call, channel: Channel, message: Message) -> Done:
    channel.statuses.pop(message.thread_ts, None)
    call.announce(channel, message)
    wire = message_wire(message, channel, call.origin)
    body = {"channel": channel.id, "ts": message.ts, "message": wire}
    return Done(body, channel.id, message.ts, message.text)


METHODS = {
    "chat.postMessage": Method(post_message, 0, FrameKind.POST),
    "chat.update": Method(update, 50, FrameKind.EDIT),
    "chat.delete": Method(delete, 50, FrameKind.DELETE),
    "chat.startStream": Method(start_stream, 20, FrameKind.POST),
    "chat.appendStream": Method(append_stream, 100, FrameKind.EDIT),
    "chat.stopStream": Method(stop_stream, 20, FrameKind.EDIT),
}
"""Calls a minute for each method, by its tier (docs.slack.dev, each method's page); postMessage has its own
rule, one a second in a channel."""
