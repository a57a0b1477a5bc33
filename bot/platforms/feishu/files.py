"""Downloads attachments, and uploads files as picture or file."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from bot.domain import Attachment, AttachmentKind, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.feishu import requests
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.errors import FeishuError, FeishuUnreached
from bot.platforms.feishu.outbound import FeishuOutbound
from bot.platforms.http import limit_size, printable_name

IMAGE_LIMIT = 10 * 1024 * 1024
"""Bytes of an uploaded picture (im-v1 image/create)."""
FILE_LIMIT = 30 * 1024 * 1024
"""Bytes of an uploaded file (im-v1 file/create)."""
DOWNLOAD_LIMIT = 100 * 1024 * 1024
"""Bytes of a resource that Feishu hands out (im-v1 message-resource/get)."""
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp"})
_TYPES = {"pdf": "pdf", "doc": "doc", "docx": "doc", "xls": "xls", "xlsx": "xls", "ppt": "ppt", "pptx": "ppt"}


class FeishuFiles:
    """Sends and fetches files for one account."""

    def __init__(self, client: FeishuClient, outbound: FeishuOutbound) -> None:
        self._client = client
        self._outbound = outbound

    async def send(self, file: OutboundFile) -> str:
        """Post a file; an image that Feishu refuses is sent as a file."""
        if not file.data or len(file.data) > FILE_LIMIT:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "Feishu accepts files of 1 byte to 30 MB")
        if file.mime in _IMAGES and len(file.data) <= IMAGE_LIMIT:
            try:
                return await self._send(file, "image")
            except DeliveryError as error:
                if error.category is not DeliveryCategory.INVALID_PAYLOAD:
                    raise
        return await self._send(file, "file")

    async def fetch(self, attachment: Attachment) -> AsyncGenerator[bytes, None]:
        """Yield the content of an attachment in chunks. Raises DeliveryError."""
        message_id, _, key = attachment.ref.partition("/")
        kind = "image" if attachment.kind is AttachmentKind.IMAGE else "file"
        try:
            download = self._client.download(requests.download_resource(message_id, key, kind))
            async with aclosing(limit_size(download, DOWNLOAD_LIMIT)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except FeishuError as problem:
            raise self._outbound.to_delivery_error(problem, posting=False) from None

    async def _send(self, file: OutboundFile, kind: str) -> str:
        try:
            key = await self._upload(file, kind)
            answer = await self._outbound.post(f"{file.key}:{kind}", file.address, kind, {f"{kind}_key": key})
        except FeishuError as problem:
            raise self._outbound.to_delivery_error(problem, posting=True) from None
        return str(answer.data["message_id"])

    async def _upload(self, file: OutboundFile, kind: str) -> str:
        name = printable_name(file.filename) or "file"
        suffix = name.rpartition(".")[2].lower()
        request = (
            requests.upload_image(file.data)
            if kind == "image"
            else requests.upload_file(file.data, name, _TYPES.get(suffix, "stream"))
        )
        answer = await self._client.upload(request, name)
        key = answer.data.get(f"{kind}_key")
        if not isinstance(key, str):
            raise FeishuUnreached("the response contains no file key", sent=False)
        return key
