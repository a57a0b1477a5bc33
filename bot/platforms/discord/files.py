"""Downloads attachments by their message, and uploads files."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import orjson

from bot.domain import Attachment, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.discord.attachments import build_title, list_files
from bot.platforms.discord.direct_messages import ReplyNotFound, name_direct
from bot.platforms.discord.interactions import CommandUses
from bot.platforms.discord.manifest import MANIFEST
from bot.platforms.discord.outbound import (
    DiscordOutbound,
    allow_mentions,
    channel_of,
    check_id,
    message_id_of,
    reply_reference,
)
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.http import limit_size, printable_name
from bot.platforms.payload import Json, Malformed


class DiscordFiles:
    """Sends and fetches files for one account."""

    def __init__(self, rest: DiscordRest, outbound: DiscordOutbound, asks: CommandUses) -> None:
        self._rest = rest
        self._asks = asks
        self._outbound = outbound

    async def send(self, file: OutboundFile) -> str:
        """Post a file; Discord displays images by itself. Files of private answers are private too."""
        if len(file.data) > MANIFEST.max_file_out:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "Discord accepts files of up to 10 MB")
        name = printable_name(file.filename)[:200] or "file"
        title = build_title(name)
        about = {"id": 0, "filename": name, **({"title": title} if title else {})}
        body = {"allowed_mentions": allow_mentions(file.key), "attachments": [about]}
        part = {"name": "files[0]", "value": file.data, "filename": name, "content_type": file.mime or None}

        def build_form(payload: Json) -> dict[str, Any]:
            return {"form": [{"name": "payload_json", "value": orjson.dumps(payload).decode()}, part]}

        file = replace(file, filename=name)
        ask = self._asks.find_private_use(file.address)
        posted = await self._outbound.post_followup(ask, body, build_form) if ask is not None else None
        if posted is not None:
            return message_id_of(posted)
        if not self._asks.is_private(file):
            with suppress(ReplyNotFound):
                return await self._send_there(file, body, build_form)
        address = await self._outbound.find_direct_address(file)
        return name_direct(address, await self._send_there(replace(file, address=address), body, build_form))

    async def _send_there(
        self, file: OutboundFile, body: Json, build_form: Callable[[Json], dict[str, Any]]
    ) -> str:
        """Post a file to its address. Raises ReplyNotFound and DeliveryError."""
        leftovers = self._outbound.leftovers
        posted = await leftovers.find(file)
        if posted is None:
            route = Route("POST", "/channels/{channel_id}/messages", channel_id=channel_of(file.address))
            body = {**body, **reply_reference(file)}
            try:
                posted = await self._outbound.post_reply(route, body, file.key, build_form)
            except discord.DiscordException as error:
                raise self._outbound.to_delivery_error(error, posting=True) from None
        number = message_id_of(posted)
        leftovers.note_posted(number)
        return number

    async def fetch(self, attachment: Attachment) -> AsyncGenerator[bytes, None]:
        """Yield the content of an attachment in chunks. Raises DeliveryError.

        Its address is signed for a day only, so its message is read again.
        """
        limit = MANIFEST.max_file_in
        if attachment.size > limit:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "the file is larger than 20 MB")
        url = await self._find_url(attachment.ref)
        try:
            async with aclosing(limit_size(self._rest.download(url), limit)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except discord.DiscordException as error:
            raise self._outbound.to_delivery_error(error, posting=False) from None

    async def _find_url(self, ref: str) -> str:
        channel, _, rest = ref.partition("/")
        message, _, number = rest.partition("/")
        route = Route(
            "GET", "/channels/{channel_id}/messages/{message_id}", channel_id=check_id(channel),
            message_id=check_id(message),
        )  # fmt: skip
        found: Any = await self._outbound.call(route, posting=False)
        for file in _list_files(found):
            if file.get("id") == number and isinstance(file.get("url"), str):
                return str(file["url"])
        raise DeliveryError(DeliveryCategory.NOT_FOUND, "the message no longer contains the file")


def _list_files(found: Any) -> list[Json]:
    try:
        return list_files(found) if isinstance(found, dict) else []
    except Malformed:
        return []
