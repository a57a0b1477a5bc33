"""Lookups of ids in payloads: people, channels, user groups, apps and files.

Slack waits three seconds for the acknowledgement of an event, so all lookups of a payload run side by side,
in bounded number and time. One that fails leaves the id or nothing in its place. Payloads that need the same
lookup at the same time share it.
"""

from __future__ import annotations

import asyncio
from functools import partial

import structlog

from bot.clock import Clock
from bot.core.joined_lookups import JoinedLookups, LookupResult
from bot.core.recent_values import RecentValues
from bot.platforms.http import CHUNK
from bot.platforms.payload import Json, Malformed, get_string
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.directory import (
    LOOKUP_SECONDS,
    UNKNOWN_SECONDS,
    SlackDirectory,
    SlackUserGroups,
)
from bot.platforms.slack.errors import CALL_ERRORS, refusal_name
from bot.platforms.slack.names import Lookup, LookupKind, SlackNames

log = structlog.get_logger(__name__)

MAX_LOOKUPS = 20
"""Lookups of one payload; more names stay unknown in it."""
MAX_HISTORY_LOOKUPS = 60
"""Lookups of a thread's history, which delays no acknowledgement."""
APP_SECONDS = 3600.0
"""Lifetime of the name of an app (s)."""
MAX_TRANSCRIPT = 256 * 1024
_REMEMBERED = 4096


class SlackLookups:
    """Lookups of an account."""

    def __init__(
        self, client: SlackClient, places: SlackDirectory, groups: SlackUserGroups, clock: Clock
    ) -> None:
        self._client = client
        self._places = places
        self._groups = groups
        self._clock = clock
        self._apps: JoinedLookups[str] = JoinedLookups(clock.now, _REMEMBERED)
        self._files: JoinedLookups[Json] = JoinedLookups(clock.now, _REMEMBERED)
        self._transcripts: JoinedLookups[str] = JoinedLookups(clock.now, _REMEMBERED)
        self._unknown: RecentValues[float] = RecentValues(_REMEMBERED)

    async def complete(self, names: SlackNames, most: int = MAX_LOOKUPS) -> bool:
        """Look up missing data, and return whether anything was found."""
        now = self._clock.now()
        wanted = [one for one in names.missing if now >= (self._unknown.get(f"{one.kind}:{one.id}") or 0.0)]
        wanted = wanted[:most]
        if not wanted:
            return False
        found = await asyncio.gather(*(self._find(one, names.chat) for one in wanted))
        for one, value in zip(wanted, found, strict=True):
            if not value:
                self._unknown.put(f"{one.kind}:{one.id}", now + UNKNOWN_SECONDS)
        pairs = list(zip(wanted, found, strict=True))
        files = {one.id: value for one, value in pairs if isinstance(value, dict) and value}
        shown = {one: value for one, value in pairs if isinstance(value, str) and value}
        names.files, names.names = {**names.files, **files}, {**names.names, **shown}
        return bool(files or shown)

    async def _find(self, wanted: Lookup, chat: str) -> str | Json:
        """Return a name without `@` and `#`, or a file's description; "" if it is not found in time."""
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await self._ask(wanted, chat)
        except (*CALL_ERRORS, Malformed) as error:
            reason = refusal_name(error) or type(error).__name__
            log.info("slack.name_unknown", kind=wanted.kind.value, reason=reason)
            return ""

    async def _ask(self, wanted: Lookup, chat: str) -> str | Json:
        if wanted.kind is LookupKind.PERSON:
            return await self._places.find_name(wanted.id)
        if wanted.kind is LookupKind.CHANNEL:
            return await self._find_channel(wanted.id, chat)
        if wanted.kind is LookupKind.GROUP:
            return await self._groups.find_handle(wanted.id)
        if wanted.kind is LookupKind.APP:
            return await self._apps.find(wanted.id, partial(self._look_up_app, wanted.id))
        if wanted.kind is LookupKind.TRANSCRIPT:
            return await self._transcripts.find(wanted.id, partial(self._fetch_transcript, wanted.id))
        return await self._files.find(wanted.id, partial(self._look_up_file, wanted.id))

    async def _find_channel(self, channel: str, chat: str) -> str:
        """Return a channel's name if everyone in the chat may know it: it is public, or this channel."""
        found = await self._places.describe_channel(channel)
        return found.title if found.visibility == "public" or channel == chat else ""

    async def _look_up_app(self, bot_id: str) -> LookupResult[str]:
        bot = (await self._client.web.bots_info(bot=bot_id)).get("bot")
        return LookupResult(get_string(bot, "name") if isinstance(bot, dict) else "", APP_SECONDS)

    async def _look_up_file(self, file_id: str) -> LookupResult[Json]:
        """Return a file's description. It is not cached, since a transcript may be added to it."""
        file = (await self._client.web.files_info(file=file_id)).get("file")
        return LookupResult(file if isinstance(file, dict) else {})

    async def _fetch_transcript(self, address: str) -> LookupResult[str]:
        """Return a recording's text, cut to MAX_TRANSCRIPT bytes of subtitles."""
        if not self._client.trusted(address):
            return LookupResult("")
        async with self._client.download(address) as response:
            if response.status != 200 or response.content_type == "text/html":
                return LookupResult("")
            data = bytearray()
            async for chunk in response.content.iter_chunked(CHUNK):
                data += chunk
                if len(data) >= MAX_TRANSCRIPT:
                    break
        return LookupResult(read_subtitles(data[:MAX_TRANSCRIPT].decode(errors="replace")))


def read_subtitles(text: str) -> str:
    """Return the text of subtitles (www.w3.org/TR/webvtt1): each cue's lines after its times."""
    words: list[str] = []
    for cue in text.replace("\r\n", "\n").split("\n\n"):
        lines = cue.split("\n")
        times = next((number for number, line in enumerate(lines) if "-->" in line), len(lines))
        words += [line.removeprefix("- ").strip() for line in lines[times + 1 :]]
    return " ".join(filter(None, words))
