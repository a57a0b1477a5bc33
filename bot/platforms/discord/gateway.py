"""The gateway: the SDK's own protocol (heartbeat, RESUME, compression) with readers of our own behind it.

The SDK's readers build objects of everything in every server, and one payload that they cannot read ends the
connection. Ours take what the bot needs, and what cannot be read is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.clock import Clock
from bot.platforms.discord.rest import DiscordRest
from bot.platforms.discord.sdk import discord
from bot.platforms.payload import Json

INTENTS = discord.Intents(guilds=True, messages=True, message_content=True)
HEARTBEAT_TIMEOUT = 60.0
# Seconds between two new sessions
# (docs.discord.com/developers/events/gateway#rate-limiting, max_concurrency 1).
IDENTIFY_EVERY = 5.0

Reader = Callable[[Json], None]


class GatewayClient(discord.Client):
    """A client whose events go to `readers` by their name; `on_lost` is told of each broken connection."""

    def __init__(
        self, rest: DiscordRest, readers: Mapping[str, Reader], on_lost: Callable[[], None], clock: Clock
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._readers = readers
        self._on_lost = on_lost
        super().__init__(
            intents=INTENTS,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
        )

    def _get_state(self, **options: Any) -> Any:
        # Called while the client is made: here the state and the client get the HTTP client of the account.
        self.http = self._rest
        state = super()._get_state(**options)
        state.parsers = dict(self._readers)
        return state

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """See Client, which waits by the machine's clock."""
        if not initial:
            await self._clock.sleep(IDENTIFY_EVERY)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """See Client. Nothing listens but for the end of a connection."""
        if event == "disconnect":
            self._on_lost()
