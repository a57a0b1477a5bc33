"""One life of an account: signed in, connected, watched, and closed without a trace."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any

from bot.errors import AccountLost, AccountRefused
from bot.platforms.base import AdapterContext
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.connection import AccountHealth, CredentialWatch, open_task_group
from bot.platforms.discord.backfill import DiscordBackfill
from bot.platforms.discord.channel_cache import ChannelCache
from bot.platforms.discord.components import DiscordClickAnswers
from bot.platforms.discord.cursor import read_cursor
from bot.platforms.discord.errors import DiscordLimited
from bot.platforms.discord.files import DiscordFiles
from bot.platforms.discord.gateway import GatewayClient
from bot.platforms.discord.heartbeat_watchdog import HeartbeatWatchdog
from bot.platforms.discord.inbound import DiscordIdentity, DiscordInbound
from bot.platforms.discord.interactions import CommandUses
from bot.platforms.discord.outbound import DiscordOutbound
from bot.platforms.discord.payload import snowflake
from bot.platforms.discord.receiver import DiscordReceiver
from bot.platforms.discord.rest import DiscordRest, Route
from bot.platforms.discord.sdk import discord
from bot.platforms.discord.threads import DiscordThreads
from bot.platforms.payload import Json, Malformed, get_string

CLOSE_SECONDS = 0.5
STORE_SECONDS = 0.5
AUTHENTICATION_FAILED = 4004


class DiscordSession:
    """Everything that an account has while it is connected."""

    def __init__(
        self,
        name: str,
        rest: DiscordRest,
        identity: DiscordIdentity,
        application: str,
        cursor: str,
        context: AdapterContext,
        health: AccountHealth,
    ) -> None:
        self.application = application
        self.rest = rest
        self._name = name
        self._credentials = CredentialWatch(lambda _: refused_token(name))
        rest.on_unauthorized = self._credentials.report
        places = ChannelCache(identity.id)
        inbound = DiscordInbound(name, identity, places)
        kept, threads, asks = read_cursor(cursor)
        for thread in threads:
            inbound.note_own_thread(thread)
        self.asks = CommandUses(rest, application, context.clock)
        self.asks.restore(asks)
        gaps = DiscordBackfill(name, rest, places, context.clock)
        signs = ChoiceMarkers()
        clicks = DiscordClickAnswers(rest, signs)
        self.receiver = DiscordReceiver(name, inbound, places, gaps, self.asks, clicks, context, health, kept)
        self.outbound = DiscordOutbound(name, identity.id, rest, self.asks, signs, health, context.clock)
        self.files = DiscordFiles(rest, self.outbound)
        self.threads = DiscordThreads(self.outbound, inbound, places)
        self.watch = HeartbeatWatchdog(context.clock, health, self.asks)
        self.client = GatewayClient(rest, self.receiver.event_readers, self.watch.note_lost, context.clock)

    @classmethod
    async def sign_in(
        cls, name: str, token: str, base_url: str | None, context: AdapterContext, health: AccountHealth
    ) -> DiscordSession:
        """Sign in. Raises AccountRefused and AccountLost; nothing is left open then."""
        rest = DiscordRest(base_url, context.clock.now)
        try:
            me = await _await_answer(name, rest.static_login(token))
            found = await _await_answer(name, rest.request(Route("GET", "/oauth2/applications/@me")))
            identity = DiscordIdentity(snowflake(me, "id"), get_string(me, "username"))
            health.identity = f"@{identity.name}"
            cursor = await context.inbox.cursor()
            return cls(name, rest, identity, snowflake(found, "id"), cursor, context, health)
        except Malformed:
            await rest.close()
            raise AccountLost("Discord's answers are not those of its API") from None
        except BaseException:
            await rest.close()
            raise

    async def finish(self) -> None:
        """Store what was received: a new person's direct message might never be read again."""
        await self.receiver.finish(STORE_SECONDS)

    async def run(self) -> None:
        """Receive until cancelled. Raises AccountRefused and AccountLost."""
        async with open_task_group() as group:
            for work, name in (
                (self._run_gateway(), "gateway"),
                (self.receiver.run(), "worker"),
                (self.watch.run(self.client), "watch"),
                (self._credentials.run(), "refused"),
            ):
                group.create_task(work, name=f"discord:{self._name}:{name}")

    async def close(self) -> None:
        """Close every connection; what does not close in time is cut."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.client.close()
        await self.rest.close()

    async def _run_gateway(self) -> None:
        """The SDK's loop: it comes back by itself from whatever can be mended."""
        try:
            async with self.client:
                await self.client.connect()
        except discord.PrivilegedIntentsRequired:
            raise AccountRefused(
                f"Discord refuses account {self._name} the Message Content Intent: switch it on in the "
                "developer portal, page Bot, under Privileged Gateway Intents, and save"
            ) from None
        except discord.ConnectionClosed as error:
            if error.code == AUTHENTICATION_FAILED:
                raise refused_token(self._name) from None
            raise AccountLost(f"Discord closed the connection (code {error.code})") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise AccountLost(f"the gateway sent what cannot be read ({type(error).__name__})") from None
        raise AccountLost("the connection to Discord has ended")


def refused_token(account: str) -> AccountRefused:
    """Discord does not know the token."""
    return AccountRefused(
        f"Discord refuses the token of account {account}: it is wrong or was reset; "
        "the developer portal gives a new one (page Bot, Reset Token)"
    )


async def _await_answer(account: str, work: Awaitable[Any]) -> Json:
    """An answer while signing in. Raises AccountRefused and AccountLost."""
    try:
        found = await work
    except discord.LoginFailure:
        raise refused_token(account) from None
    except DiscordLimited as error:
        raise AccountLost(f"Discord asks to wait {error.retry_after:g} s before signing in") from None
    except discord.HTTPException as error:
        if error.status == 401:
            raise refused_token(account) from None
        raise AccountLost(f"Discord answers {error.status}: {error.text}") from None
    except discord.DiscordException as error:
        raise AccountLost(f"cannot reach Discord: {error}") from None
    if not isinstance(found, dict):
        raise AccountLost("Discord's answers are not those of its API")
    return found
