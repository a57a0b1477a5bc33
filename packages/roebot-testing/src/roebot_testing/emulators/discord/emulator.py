"""Discord emulator: state, API, gateway, people and their controls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, ClassVar

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.base import Emulator, Handler
from roebot_testing.emulators.discord.api import CDN, PREFIX, MethodHandler, RestApi
from roebot_testing.emulators.discord.contents import DiscordTeam
from roebot_testing.emulators.discord.gateway import HEARTBEAT_SECONDS, Gateway
from roebot_testing.emulators.discord.interactions import Interactions
from roebot_testing.emulators.discord.limits import DiscordLimits
from roebot_testing.emulators.discord.messages import Messages
from roebot_testing.emulators.discord.misbehaviour import Misbehaviour
from roebot_testing.emulators.discord.state import DiscordMessage
from roebot_testing.emulators.discord.wire import member_of, roles_wire, seen, view
from roebot_testing.emulators.discord.workspace import DEFAULT_TOKEN, DiscordWorkspace
from roebot_testing.emulators.server import Receive, Scope, Send
from roebot_testing.emulators.transcript import FrameKind

_STARTS = {"session_start_limit": {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}}


class DiscordEmulator(Misbehaviour, Emulator):
    """One emulated bot account. `scale` shortens the periods of limits and the life of tokens.

    `people` performs the actions of people.
    """

    TITLE: ClassVar[str] = "Discord"
    PORT: ClassVar[int] = 8084
    SERVER_ERROR: ClassVar[str] = "500: Internal Server Error"
    people: DiscordTeam
    api: RestApi
    rate_limits: DiscordLimits

    def __init__(
        self,
        *,
        port: int = 0,
        token: str = DEFAULT_TOKEN,
        scale: float = 1.0,
        limits: bool = True,
        heartbeat: float = HEARTBEAT_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(port, monotonic)
        self.token = token
        self.world = DiscordWorkspace(wall)
        self.rate_limits = DiscordLimits(scale, limits)
        self.gateway = Gateway(self.world, self._knows, monotonic)
        self.gateway.heartbeat = heartbeat
        messages = Messages(self.world, self.gateway.emit)
        self.interactions = Interactions(self.world, messages, self.gateway.emit)
        self.interactions.scale = scale
        self.people = DiscordTeam(self.world, self.gateway.emit, self._record)
        self.api = RestApi(
            self.world,
            self._handlers(messages, self.interactions),
            self.rate_limits,
            self.transcript,
            token=token,
            monotonic=monotonic,
        )
        self.world.base = self._server.url
        self.gateway.url = self._server.url.replace("http", "ws", 1) + "/gateway"

    @property
    def url(self) -> str:
        return self._server.url + PREFIX

    def find_handler(self, path: str) -> Handler | None:
        if path.startswith(PREFIX + "/"):
            return self.api.call
        return self.api.download if path.startswith(CDN) else None

    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.gateway.serve(scope, receive, send)

    def view(self, chat: int) -> dict[str, Any]:
        """Return one channel as a person sees it now."""
        return view(self.world.channels[chat], self.world.bot.id)

    def views(self) -> list[dict[str, Any]]:
        return [view(channel, self.world.bot.id) for channel in self.world.channels.values()]

    def _own_counters(self) -> dict[str, Any]:
        return {
            "invalid": self.api.invalid,
            "sockets": len(self.gateway.sockets),
            "identified": self.gateway.identified,
            "resumed": self.gateway.resumed,
            "heartbeats": self.gateway.heartbeats,
            "previews": list(self.world.previews.fetched),
        }

    async def _close(self) -> None:
        """Close nothing: the sockets are closed by the server."""

    def _clear(self) -> None:
        for kept in (self.world.channels, self.world.users, self.world.guilds, self.world.files):
            kept.clear()
        self.world.interactions.clear()
        self.world.previews.fetched.clear()
        self.come_back()

    def _handlers(self, messages: Messages, interactions: Interactions) -> dict[str, MethodHandler]:
        return {
            "getMe": lambda call: CallResult({**self.world.bot.wire(), "verified": True, "flags": 0}),
            "getApplication": lambda call: CallResult(self._application()),
            "getGateway": lambda call: CallResult({"url": self.gateway.url}),
            "getGatewayBot": lambda call: CallResult({"url": self.gateway.url, "shards": 1, **_STARTS}),
            "createDm": messages.open_direct,
            "getChannel": messages.channel,
            "modifyChannel": messages.modify_channel,
            "createMessage": messages.create,
            "listMessages": messages.list,
            "getMessage": messages.get,
            "editMessage": messages.edit,
            "deleteMessage": messages.delete,
            "startThread": messages.start_thread,
            "typing": messages.typing,
            "addReaction": messages.add_reaction,
            "removeReaction": messages.remove_reaction,
            "getRoles": lambda call: CallResult(roles_wire(self.world.guild(call.number("guild")))),
            "getMember": lambda call: CallResult(
                member_of(self.world, call.number("guild"), call.number("user"))
            ),
            "putCommands": interactions.put_commands,
            "getCommands": interactions.get_commands,
            "callback": interactions.callback,
            "followup": interactions.followup,
            "editAnswer": interactions.edit,
            "getAnswer": interactions.get,
            "deleteAnswer": interactions.delete,
        }

    def _knows(self, token: str) -> bool:
        return self.api.knows(token)

    def _application(self) -> dict[str, Any]:
        content = 1 << 19 if self.gateway.content_allowed else 0
        owner = self.world.user(self.world.bot.id + 1, "Owner").wire()
        return {
            "id": str(self.world.bot.id),
            "name": self.world.bot.name,
            "icon": None,
            "description": "",
            "bot_public": True,
            "bot_require_code_grant": False,
            "verify_key": "0" * 64,
            "flags": content,
            "owner": owner,
            "team": None,
            "summary": "",
        }

    def _record(self, message: DiscordMessage, method: str) -> None:
        self.transcript.add(
            FrameKind.PERSON,
            method,
            chat=str(message.channel.id),
            message_id=str(message.id),
            text=message.text,
        )

    def _to_json(self, result: Any) -> Any:
        if isinstance(result, DiscordMessage):
            return {**seen(result, self.world.bot.id), "chat": result.channel.id}
        return None if isinstance(result, asyncio.Task) else result
