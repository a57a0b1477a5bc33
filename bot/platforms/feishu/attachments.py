"""Attachments of messages. Feishu only names documents; other files get a name from their key."""

from __future__ import annotations

from bot.domain import Attachment, AttachmentKind
from bot.platforms.payload import Json, get_string, require_string


def resource_ref(message_id: str, key: str) -> str:
    """Build the `ref` of an attachment."""
    return f"{message_id}/{key}"


def image_attachment(message_id: str, key: str) -> Attachment:
    """Build a picture."""
    name = f"image_{key[-8:]}.png"
    return Attachment(AttachmentKind.IMAGE, name, resource_ref(message_id, key), mime="image/png")


def file_attachment(message_id: str, content: Json) -> Attachment:
    """Build a document. Raises Malformed."""
    key = require_string(content, "file_key")
    name = get_string(content, "file_name") or f"file_{key[-8:]}"
    return Attachment(AttachmentKind.FILE, name, resource_ref(message_id, key))


def video_attachment(message_id: str, content: Json) -> Attachment:
    """Build a video (`media`); in rich texts it has no name. Raises Malformed."""
    key = require_string(content, "file_key")
    name = get_string(content, "file_name") or f"media_{key[-8:]}.mp4"
    return Attachment(AttachmentKind.VIDEO, name, resource_ref(message_id, key), mime="video/mp4")


def voice_attachment(message_id: str, content: Json) -> Attachment:
    """Build a voice message: Opus in Ogg (im-v1 file/create). Raises Malformed."""
    key = require_string(content, "file_key")
    name = f"audio_{key[-8:]}.ogg"
    return Attachment(AttachmentKind.VOICE, name, resource_ref(message_id, key), mime="audio/ogg")
