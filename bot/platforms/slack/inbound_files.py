"""Files of messages (docs.slack.dev/reference/objects/file-object)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot import content
from bot.content import Card, CardField, CardLink
from bot.domain import Attachment, AttachmentKind, Quotation, QuotationKind
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    require_string,
)
from bot.platforms.slack.names import LookupKind, SlackNames

MAX_FILES = 50
_GONE = frozenset({"tombstone", "hidden_by_limit"})
_DOCUMENTS = frozenset({"quip", "post", "canvas"})
"""Modes of Slack's own documents, whose file name is built from the title."""
_ELSEWHERE = frozenset({"external", "list"})
"""Modes of files that Slack shows but does not store as bytes."""


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """A message's files, and information about them other than their names."""

    attachments: tuple[Attachment, ...] = ()
    quotations: tuple[Quotation, ...] = ()


def read_files(files: Sequence[Json], names: SlackNames) -> ReadFiles:
    """Read files, with a placeholder quotation for unreadable ones."""
    attachments: list[Attachment] = []
    quotations: list[Quotation] = []
    for file in files[:MAX_FILES]:
        try:
            found = _read_file(file, names)
            attachments += found.attachments
            quotations += found.quotations
        except Malformed:
            quotations.append(content.unsupported("file"))
    return ReadFiles(tuple(attachments), tuple(quotations))


def read_speech(files: Sequence[Json], names: SlackNames) -> list[str]:
    """Return transcripts of a shared message's files, as lines of its text."""
    found = read_files(files, names).quotations
    return [
        content.transcript_line(one.text, *one.files)
        for one in found
        if one.kind is QuotationKind.TRANSCRIPT and one.files
    ]


def _read_file(file: Json, names: SlackNames) -> ReadFiles:
    mode = get_string(file, "mode")
    if mode in _GONE:
        return ReadFiles(quotations=(content.unsupported(f"{mode} file"),))
    if get_string(file, "file_access") == "check_file_info":
        # A channel that is shared with another organization: the event has the id alone.
        file = names.find_file(require_string(file, "id")) or {"id": file["id"]}
        mode = get_string(file, "mode")
    if mode in _ELSEWHERE:
        return ReadFiles(quotations=(content.card(_read_link(file)),))
    if mode == "email":
        return ReadFiles(quotations=(content.card(_read_email(file)),))
    attachment = _build_attachment(file, mode)
    return ReadFiles(
        (attachment,), (*_read_details(file, attachment), *_read_transcript(file, attachment, names))
    )


def _build_attachment(file: Json, mode: str) -> Attachment:
    mime, file_id = get_string(file, "mimetype"), require_string(file, "id")
    if len(file_id) > 64:
        raise Malformed("id of a file is too long")
    title, name = get_string(file, "title"), get_string(file, "name")
    shown = (title or name) if mode in _DOCUMENTS else (name or title)
    return Attachment(_find_kind(file, mime), shown or file_id, file_id, get_int(file, "size", -1), mime)


def _find_kind(file: Json, mime: str) -> AttachmentKind:
    """Return a file's kind; among sounds, only recorded clips are known to be speech."""
    if get_string(file, "subtype") == "slack_audio":
        return AttachmentKind.VOICE
    if mime.startswith("image/"):
        return AttachmentKind.IMAGE
    return AttachmentKind.VIDEO if mime.startswith("video/") else AttachmentKind.FILE


def _read_details(file: Json, attachment: Attachment) -> Iterable[Quotation]:
    """Return the title and description displayed next to a file, if they differ from its name."""
    title, described = get_string(file, "title"), get_string(file, "alt_txt")
    known = {"", attachment.filename, get_string(file, "name")}
    lines = [CardField(attachment.filename, text) for text in (title, described) if text not in known]
    return (content.preview(Card(lines=lines)),) if lines else ()


def _read_transcript(file: Json, attachment: Attachment, names: SlackNames) -> Iterable[Quotation]:
    """Return Slack's transcript of a clip. If it was not ready, `files.info` may provide it by now."""
    status = get_string(get_object(file, "transcription"), "status")
    if status in ("processing", "pending"):
        file = names.find_file(require_string(file, "id")) or file
    preview = get_object(get_object(file, "transcription"), "preview")
    text, address = get_string(preview, "content"), get_string(file, "vtt")
    if not text:
        return ()
    if preview.get("has_more") is True:
        whole = names.find(LookupKind.TRANSCRIPT, address) if address else ""
        text = whole or f"{text} …"
    return (content.transcript(text, attachment.filename),)


def _read_link(file: Json) -> Card:
    url = get_string(file, "external_url") or get_string(file, "permalink") or get_string(file, "url_private")
    title = get_string(file, "title") or get_string(file, "name")
    note = get_string(get_object(file, "list_metadata"), "description")
    return Card(title=title, url=url, lines=[note])


def _read_email(file: Json) -> Card:
    senders = ", ".join(_show_address(one) for one in get_objects(file, "from"))
    text = get_string(file, "plain_text") or get_string(file, "preview_plain_text")
    subject = get_string(file, "subject") or get_string(file, "title")
    attached = (CardLink(get_string(one, "filename"), get_string(one, "url")) for one in _attached(file))
    return Card(subject, "", f"From: {senders}" if senders else "", [text, *attached])


def _attached(file: Json) -> list[Json]:
    return [one for one in get_objects(file, "attachments") if one.get("filename")]


def _show_address(one: Json) -> str:
    name, address = get_string(one, "name"), get_string(one, "address")
    return get_string(one, "original") or f"{name} <{address}>"
