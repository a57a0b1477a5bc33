"""Files in messages, rich messages and paid media."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.domain import Attachment, AttachmentKind
from bot.platforms.payload import Json, get_int, get_object, get_objects, get_string, require_object

MAX_FILES = 20
"""Maximum number of files of one message. An album brings each in a message of its own; only rich messages
and paid media have several.
"""
_KINDS: Mapping[str, AttachmentKind] = {
    "document": AttachmentKind.FILE,
    "video": AttachmentKind.VIDEO,
    "audio": AttachmentKind.FILE,
    "animation": AttachmentKind.VIDEO,
    "voice": AttachmentKind.VOICE,
    "voice_note": AttachmentKind.VOICE,
    "video_note": AttachmentKind.VIDEO,
}
_ENDINGS = {
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "video/mp4": ".mp4",
    "image/gif": ".gif",
}
_MIMES = {"voice": "audio/ogg", "voice_note": "audio/ogg", "video_note": "video/mp4"}
"""Types of files that come without one (core.telegram.org/bots/api#voice)."""
_RECORDINGS = {"voice": "[voice message]", "video_note": "[video message]"}


def read_attachments(message: Json) -> tuple[Attachment, ...]:
    """Return the files of a message or of an `ExternalReplyInfo`. Raises Malformed."""
    number = str(get_int(message, "message_id")) if message.get("message_id") is not None else ""
    if message.get("paid_media") is not None:
        bought = get_objects(require_object(message, "paid_media"), "paid_media")[:MAX_FILES]
        found = [read_file(one, f"{number}_{at}") for at, one in enumerate(bought, 1)]
        return tuple(one for one in found if one is not None)
    file = read_file(message, number)
    return (file,) if file is not None else ()


def read_file(parent: Json, number: str) -> Attachment | None:
    """Return the file in an object under the name of its kind, or None if there is none. A file without a
    name gets one with `number`. Raises Malformed.
    """
    sizes = get_objects(parent, "photo") or get_objects(get_object(parent, "live_photo"), "photo")
    if sizes:
        name = f"photo_{number}.jpg" if number else "photo.jpg"
        return _build(max(sizes, key=_photo_size), AttachmentKind.IMAGE, name, "image/jpeg")
    # An animation is also sent as a document, for old clients.
    for kind in ("animation", *_KINDS):
        if parent.get(kind) is not None:
            file = require_object(parent, kind)
            mime = get_string(file, "mime_type") or _MIMES.get(kind, "")
            generic = f"{kind}_{number}" if number else kind
            name = get_string(file, "file_name") or f"{generic}{_ENDINGS.get(mime, '')}"
            return _build(file, _KINDS[kind], name, mime)
    return None


def recording_lines(message: Json) -> Sequence[str]:
    """Return placeholder lines for the recordings in a quoted message."""
    return [line for kind, line in _RECORDINGS.items() if message.get(kind) is not None]


def _build(file: Json, kind: AttachmentKind, name: str, mime: str) -> Attachment:
    return Attachment(kind, name, get_string(file, "file_id"), get_int(file, "file_size", -1), mime)


def _photo_size(size: Json) -> tuple[int, int]:
    return get_int(size, "width") * get_int(size, "height"), get_int(size, "file_size")
