"""Search for a post of unknown outcome in its channel, once its nonce may have expired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import OutboundFile, OutboundMessage, ReplyAddress
from bot.platforms.discord.attachments import is_same_file
from bot.platforms.discord.renderer import mention_in_discord, render_discord
from bot.platforms.discord.snowflake import snowflake, snowflake_at
from bot.platforms.payload import Json, Malformed, get_object, get_objects, require_object

log = structlog.get_logger(__name__)

NONCE_SECONDS = 60.0
"""How long a nonce is relied on: Discord checks it "for some minutes", and does not say for how many
(docs.discord.com/developers/resources/message#create-message-jsonform-params)."""
PAGE = 100
REMEMBERED = 2000
SKEW = 30.0
"""Our clock may be ahead of Discord's by so many seconds."""
_CLOSING = "*_~`| "
"""A frame may end with these, which close what is open in it."""

Read = Callable[[ReplyAddress, int], Awaitable[Any]]


class EarlierPosts:
    """Finds posts by earlier calls with unknown outcome. `read` reads a page after an id."""

    def __init__(self, own_id: str, clock: Clock, read: Read) -> None:
        self._own_id = own_id
        self._clock = clock
        self._read = read
        self._started = clock.now()
        self._tried: RecentValues[float] = RecentValues(REMEMBERED)
        self._posted: RecentValues[bool] = RecentValues(REMEMBERED)

    def note_posted(self, message_id: str) -> None:
        """Record the id of a posted message."""
        self._posted.put(message_id, True)

    async def find(self, sent: OutboundMessage | OutboundFile) -> Json | None:
        """Return the message posted by an earlier attempt, or None if there is none.

        The channel is read only if there may have been an attempt, and its nonce may be forgotten by now.
        Raises the errors of `read`.
        """
        now = self._clock.now()
        tried = self._tried.get(sent.key)
        self._tried.put(sent.key, now if tried is None else tried)
        # In this life by an earlier try, or in the life of a process before it.
        since = tried if tried is not None else sent.since if sent.since < self._started else now
        if not sent.since or now - since < NONCE_SECONDS:
            return None
        found = await self._read(sent.address, snowflake_at(sent.since - SKEW))
        for message in reversed(found if isinstance(found, list) else []):
            if self._matches(message, sent):
                log.info("discord.post_found", key=sent.key)
                return dict(message)
        return None

    def _matches(self, message: Any, sent: OutboundMessage | OutboundFile) -> bool:
        try:
            number = snowflake(message, "id")
            author = snowflake(require_object(message, "author"), "id")
            answers = get_object(message, "message_reference").get("message_id")
            files = get_objects(message, "attachments")
            is_file = isinstance(sent, OutboundFile) and any(
                is_same_file(one, sent.filename, len(sent.data)) for one in files
            )
        except (Malformed, AttributeError):
            return False
        wanted = (None, sent.address.reply_to)
        if author != self._own_id or number in self._posted or answers not in wanted:
            return False
        if isinstance(sent, OutboundFile):
            return is_file
        shown, text = str(message.get("content") or ""), render_discord(sent.text)
        forms = (text, mention_in_discord(text, sent.mentions)[0])
        return not files and any(_share_beginning(shown, form) for form in forms)


def _share_beginning(shown: str, text: str) -> bool:
    """Return whether one text is a prefix of the other, ignoring a frame's closing marks."""
    first, second = (" ".join(one.split()).rstrip(_CLOSING) for one in (shown, text))
    return bool(first and second) and (first.startswith(second) or second.startswith(first))
