"""Read a posted message: JSON, or a form whose files are stored before the message is accepted."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.datastructures import FormData, UploadFile

from bot.domain import Attachment, AttachmentKind
from bot.platforms.local.files import FileTooLarge, InboxFiles
from bot.server.api.dependencies import ApiServices
from bot.store.schedules import EVENT

MOST_FILES = 10
# No platform's event ids begin with this prefix.
PRESSED = "page:"
EVENT_ID = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
OURS = (EVENT, PRESSED)
_NAME = re.compile(r"[\x00-\x1f\x7f/\\]+")
NAME_LENGTH = 200


class NewMessage(BaseModel):
    """A message; `event_id` is the client's id, and repeating it has no further effect."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field("", max_length=2_000_000)
    event_id: str = Field("", pattern=rf"^({EVENT_ID})?$")

    @field_validator("event_id")
    @classmethod
    def _is_the_clients_own(cls, value: str) -> str:
        if value.startswith(OURS):
            raise ValueError("uses a prefix reserved for the service")
        return value


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A posted message with its stored files."""

    message: NewMessage
    files: tuple[Attachment, ...] = ()


@asynccontextmanager
async def read_message(request: Request, services: ApiServices) -> AsyncIterator[PostedMessage]:
    """Read the message of a request; its files are deleted if the body of the context fails.

    Raises 413 for a file over the limit and 422 for an invalid message.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        yield PostedMessage(_validate(await _read_json(request)))
        return
    inbox = InboxFiles(services.home)
    async with request.form(max_files=MOST_FILES, max_fields=4, max_part_size=4_000_000) as form:
        message = _validate({key: value for key, value in form.items() if isinstance(value, str)})
        stored: list[Attachment] = []
        try:
            for upload in _form_uploads(form):
                stored.append(await _save_upload(inbox, upload, services.file_bytes))
            yield PostedMessage(message, tuple(stored))
        except BaseException:
            for attachment in stored:
                await inbox.delete_file(Path(attachment.ref))
            raise


async def _read_json(request: Request) -> object:
    try:
        return await request.json()
    except ValueError as error:
        raise HTTPException(400, "The body is not JSON.") from error


def _validate(body: object) -> NewMessage:
    try:
        return NewMessage.model_validate(body)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise HTTPException(422, f"{place or 'body'}: {problem['msg']}") from error


def _form_uploads(form: FormData) -> list[UploadFile]:
    return [value for _, value in form.multi_items() if isinstance(value, UploadFile) and value.filename]


async def _save_upload(inbox: InboxFiles, upload: UploadFile, limit: int) -> Attachment:
    name = _NAME.sub("_", upload.filename or "").strip()[-NAME_LENGTH:] or "file"
    mime = (upload.content_type or "").partition(";")[0].strip().lower()
    try:
        path, size = await inbox.store_file(upload.file, limit)
    except FileTooLarge as error:
        megabytes = error.limit / 1_000_000
        raise HTTPException(413, f"{name} is too large: at most {megabytes:g} MB.") from error
    kind = AttachmentKind.IMAGE if mime.startswith("image/") else AttachmentKind.FILE
    return Attachment(kind, name, str(path), size, mime)
