"""Files both ways: attachments are streamed in, artifacts go out as photo or document."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
from telegram.error import NetworkError, TelegramError

from bot.domain import Attachment, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.telegram.client import Client
from bot.platforms.telegram.failures import delivery_error
from bot.platforms.telegram.outbound import Outbound, reply_parameters
from bot.platforms.telegram.request import CONNECT_SECONDS, ApiRefused

DOWNLOAD_LIMIT = 20 * 1024 * 1024
"""Bytes that `getFile` gives out (python-telegram-bot 22.8, `constants.FileSizeLimit.FILESIZE_DOWNLOAD`)."""
UPLOAD_LIMIT = 50 * 1024 * 1024
"""Bytes of a document (the same, `FILESIZE_UPLOAD`)."""
PHOTO_LIMIT = 10 * 1024 * 1024
"""Bytes of a photo (the same, `PHOTOSIZE_UPLOAD`)."""
CHUNK = 64 * 1024
READ_SECONDS = 30.0
_PHOTOS = frozenset({"image/png", "image/jpeg", "image/webp"})


class Files:
    """Sends and fetches files for one account."""

    def __init__(self, client: Client, outbound: Outbound) -> None:
        self._client = client
        self._outbound = outbound
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            trust_env=client.trust_environment,
            verify=client.verify,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, file: OutboundFile) -> str:
        """Post a file; a picture that Telegram does not take as one goes as a document."""
        size = len(file.data)
        if size > UPLOAD_LIMIT:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "Telegram takes files of up to 50 MB")
        if file.mime in _PHOTOS and size <= PHOTO_LIMIT:
            try:
                return await self._upload("sendPhoto", "photo", file)
            except DeliveryError as error:
                if error.category is not DeliveryCategory.INVALID_PAYLOAD:
                    raise
        return await self._upload("sendDocument", "document", file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """The content of an attachment, in chunks. Raises DeliveryError."""
        if attachment.size > DOWNLOAD_LIMIT:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "Telegram gives out files of up to 20 MB")
        try:
            found = await self._client.call("getFile", file_id=attachment.ref)
        except TelegramError as error:
            raise delivery_error(error, posting=False) from None
        path = found.get("file_path") if isinstance(found, dict) else None
        if not isinstance(path, str):
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "Telegram has no such file any more")
        async for chunk in self._stream(path):
            yield chunk

    async def _stream(self, path: str) -> AsyncIterator[bytes]:
        received = 0
        try:
            async with self._http.stream("GET", self._client.file_url(path)) as response:
                if response.status_code != 200:
                    refusal = ApiRefused(response.status_code, f"HTTP status {response.status_code}", {})
                    raise delivery_error(refusal, posting=False)
                async for chunk in response.aiter_bytes(CHUNK):
                    received += len(chunk)
                    if received > DOWNLOAD_LIMIT:
                        raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "the file is over 20 MB")
                    yield chunk
        except httpx.HTTPError as error:
            failure = NetworkError(f"the download broke off ({type(error).__name__})")
            raise delivery_error(failure, posting=False) from None

    async def _upload(self, method: str, field: str, file: OutboundFile) -> str:
        content = self._client.file(file.data, file.filename)
        posted = await self._outbound.call(
            method, file.address, posting=True, **{field: content}, **reply_parameters(file.address)
        )
        return str(posted["message_id"])
