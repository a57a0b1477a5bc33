"""Attachments of messages, and their authors' descriptions of them.

Source: docs.discord.com/developers/resources/message#attachment-object.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePosixPath

from bot.domain import Attachment, AttachmentKind, Quotation, QuotationKind
from bot.platforms.discord.cards import list_component_files
from bot.platforms.discord.names import MessageNames, list_snapshots, one_line
from bot.platforms.discord.snowflake import snowflake
from bot.platforms.payload import Json, Malformed, get_int, get_objects, get_string

_PLAIN = re.compile(r"[A-Za-z0-9-][\w.-]*", re.ASCII)
VOICE = 1 << 13
"""Flag of a message that is a recording (…/resources/message#message-object-message-flags)."""
CLIP = 1 << 0
"""Flag of an attachment that is a clip of a stream (…/message#attachment-object-attachment-flags)."""


def list_files(message: Json) -> list[Json]:
    """Return the files of a message and of its forwarded messages. Raises Malformed."""
    return [file for one in (message, *list_snapshots(message)) for file in own_files(one)]


def own_files(message: Json) -> list[Json]:
    """Return a message's attachments, followed by files that only its components show. Raises Malformed."""
    attached = get_objects(message, "attachments")
    known = [file.get("id") for file in attached]
    shown: list[Json] = []
    with suppress(Malformed):  # the reader of components says so
        shown = list_component_files(message)
    return [*attached, *(file for file in shown if file["id"] not in known)]


def read_attachments(message: Json, where: str) -> tuple[Attachment, ...]:
    """Read a message's files; `where` is its channel and id, for fetching them. Raises Malformed."""
    is_voice = bool(get_int(message, "flags") & VOICE)
    return tuple(_build_attachment(file, where, is_voice=is_voice) for file in own_files(message))


def describe_files(message: Json, names: MessageNames) -> list[Quotation]:
    """Return the author's information about each file: a description for blind people, or the title of a clip
    with the people in it. It accompanies the file, and does not affect whether the message is the author's
    own. Raises Malformed.
    """
    found: list[Quotation] = []
    for file in own_files(message):
        people = [names.name_of(user) for user in get_objects(file, "clip_participants")]
        title = get_string(file, "title") if get_int(file, "flags") & CLIP else ""
        with_people = f"with {', '.join(filter(None, people))}" if any(people) else ""
        told = "\n".join(filter(None, (title, get_string(file, "description"), with_people)))
        if told:
            found.append(Quotation(QuotationKind.PREVIEW, told, files=(file_name(file),)))
    return found


def file_name(file: Json) -> str:
    """Return a file's name. Discord replaces names in other scripts, and keeps the original as the title.
    Raises Malformed.
    """
    name, title = get_string(file, "filename"), one_line(get_string(file, "title"))
    if not title or get_int(file, "flags") & CLIP:
        return name or f"file_{snowflake(file, 'id')}"
    title, suffix = title.replace("/", "_"), PurePosixPath(name).suffix
    return title if title.endswith(suffix) else f"{title}{suffix}"


def build_title(name: str) -> str:
    """Return the title to send with a file, or "" if Discord leaves its name unchanged, which it only does
    for ASCII words (discord-api-docs#7754). The suffix is in the name.
    """
    return "" if _PLAIN.fullmatch(name) else PurePosixPath(name).stem


def is_same_file(file: Json, name: str, size: int) -> bool:
    """Return whether a posted file was sent with this name and size (bytes). Discord, among others, changes
    names; if the title does not preserve the name, the size decides. Raises Malformed.
    """
    if name in (get_string(file, "filename"), file_name(file)):
        return True
    title, sent = one_line(get_string(file, "title")), build_title(name)
    if title or not sent:
        return bool(title) and title in (name, sent)
    return get_int(file, "size", -1) == size


def _build_attachment(file: Json, where: str, *, is_voice: bool) -> Attachment:
    mime = get_string(file, "content_type").partition(";")[0]
    major = mime.partition("/")[0]
    kinds = {"image": AttachmentKind.IMAGE, "video": AttachmentKind.VIDEO}
    kind = AttachmentKind.VOICE if is_voice else kinds.get(major, AttachmentKind.FILE)
    number = snowflake(file, "id")
    return Attachment(kind, file_name(file), f"{where}/{number}", get_int(file, "size", -1), mime)
