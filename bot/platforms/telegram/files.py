"""Downloads attachments, and uploads files as photo or document."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from telegram.error import TelegramError

from bot.domain import Attachment, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.http import limit_size
from bot.platforms.telegram.errors import delivery_error
from bot.platforms.telegram.http import TelegramClient
from bot.platforms.telegram.outbound import TelegramOutbound, reply_parameters

DOWNLOAD_LIMIT = 20 * 1024 * 1024
"""Bytes that `getFile` hands out (python-telegram-bot 22.8, `constants.FileSizeLimit.FILESIZE_DOWNLOAD`)."""
UPLOAD_LIMIT = 50 * 1024 * 1024
"""Bytes of a document (ibid., `FILESIZE_UPLOAD`)."""
PHOTO_LIMIT = 10 * 1024 * 1024
"""Bytes of a photo (ibid., `PHOTOSIZE_UPLOAD`)."""
_PHOTOS = frozenset({"image/png", "image/jpeg", "image/webp"})


class TelegramFiles:
    """Sends and fetches files for one account."""

    def __init__(self, client: TelegramClient, outbound: TelegramOutbound) -> None:
        self._client = client
        self._outbound = outbound

    async def send(self, file: OutboundFile) -> str:
        """Post a file; an image that Telegram refuses as a photo is sent as a document."""
        size = len(file.data)
        if size > UPLOAD_LIMIT:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "Telegram accepts files of up to 50 MB")
        if file.mime in _PHOTOS and size <= PHOTO_LIMIT:
            try:
                return await self._post_upload("sendPhoto", "photo", file)
            except DeliveryError as error:
                if error.category is not DeliveryCategory.INVALID_PAYLOAD:
                    raise
        return await self._post_upload("sendDocument", "document", file)

    async def fetch(self, attachment: Attachment) -> AsyncGenerator[bytes, None]:
        """Yield the content of an attachment in chunks. Raises DeliveryError."""
        if attachment.size > DOWNLOAD_LIMIT:
            raise DeliveryError(
                DeliveryCategory.INVALID_PAYLOAD, "Telegram only provides files of up to 20 MB"
            )
        try:
            found = await self._client.call("getFile", file_id=attachment.ref)
            path = found.get("file_path") if isinstance(found, dict) else None
            if not isinstance(path, str):
                raise DeliveryError(DeliveryCategory.NOT_FOUND, "Telegram no longer has this file")
            async with aclosing(limit_size(self._client.download(path), DOWNLOAD_LIMIT)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except TelegramError as error:
            raise delivery_error(error, posting=False) from None

    async def _post_upload(self, method: str, field: str, file: OutboundFile) -> str:
        content = self._client.input_file(file.data, file.filename)
        posted = await self._outbound.call_chat(
            method, file.address, posting=True, **{field: content}, **reply_parameters(file.address)
        )
        return str(posted["message_id"])
