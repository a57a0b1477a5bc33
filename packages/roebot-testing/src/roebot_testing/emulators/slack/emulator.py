"""Slack emulator: workspace, Web API, Socket Mode, people and their controls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from roebot_testing.emulators.base import Emulator, Handler
from roebot_testing.emulators.limits import RateLimits
from roebot_testing.emulators.server import Receive, Scope, Send
from roebot_testing.emulators.slack.api import WebApi
from roebot_testing.emulators.slack.envelopes import Envelope, HttpRequests, Outbox
from roebot_testing.emulators.slack.people import SlackPeople
from roebot_testing.emulators.slack.socket import SocketMode
from roebot_testing.emulators.slack.state import SlackChatMessage
from roebot_testing.emulators.slack.wire import seen, view
from roebot_testing.emulators.slack.workspace import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, SlackWorkspace


class SlackEmulator(Emulator):
    """One emulated workspace with one app. `scale` shortens the periods of limits and the life of streams.

    `people` performs the actions of people.
    """

    TITLE: ClassVar[str] = "Slack"
    PORT: ClassVar[int] = 8082
    CREDENTIALS: ClassVar[tuple[str, ...]] = ("bot_token", "app_token", "signing_secret")
    OPTIONS: ClassVar[tuple[str, ...]] = ()
    NO_CONTROLS: ClassVar[tuple[str, ...]] = ("announce", "event")
    SERVER_ERROR: ClassVar[str] = "internal_error"
    people: SlackPeople
    api: WebApi
    rate_limits: RateLimits

    def __init__(
        self,
        *,
        port: int = 0,
        bot_token: str = BOT_TOKEN,
        app_token: str = APP_TOKEN,
        scale: float = 1.0,
        limits: bool = True,
        team: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(port, monotonic)
        self.bot_token = bot_token
        self.app_token = app_token
        self.signing_secret = SIGNING_SECRET
        self.world = SlackWorkspace(team) if team else SlackWorkspace()
        self.world.monotonic = monotonic
        self.rate_limits = RateLimits(scale=scale, enabled=limits)
        self.socket = SocketMode()
        self.requests = HttpRequests(self.signing_secret)
        self.outbox = Outbox(self._carry, lambda: self.rate_limits.scale)
        self.people = SlackPeople(self.world, self.outbox.put, self.transcript.add, lambda: self.origin)
        self.api = WebApi(
            self.world,
            self.rate_limits,
            self.transcript,
            bot_token=bot_token,
            app_token=app_token,
            origin=lambda: self.origin,
            announce=self.people.announce,
            monotonic=monotonic,
        )

    @property
    def url(self) -> str:
        return f"{self._server.url}/api/"

    def find_handler(self, path: str) -> Handler | None:
        handlers = {
            "api": self.api.call,
            "upload": self.api.upload,
            "files-pri": self.api.download,
            "respond": self.api.respond,
        }
        root, slash, _ = path.removeprefix("/").partition("/")
        return handlers.get(root) if slash else None

    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.socket.serve(scope, receive, send, self.outbox)

    def redeliver(self, count: int = 1) -> None:
        """Send the last events again."""
        self.outbox.redeliver(count)

    def duplicate(self, on: bool = True) -> None:
        """Send every event twice from now on."""
        self.outbox.twice = on

    def reorder(self, count: int = 2) -> None:
        """Hold back the next events and send them in reverse order."""
        self.outbox.held = count

    def close_sockets(self) -> None:
        """Close every connection of Socket Mode."""
        self.socket.close_all()

    def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask the app to reconnect, as Slack does every few hours."""
        self.socket.say({"type": "disconnect", "reason": reason, "debug_info": {"host": "emulator"}})

    def stall(self) -> None:
        """Deliver nothing until `release`."""
        self.outbox.stalled = True

    def release(self) -> None:
        """End `stall`."""
        self.outbox.stalled = False
        self.outbox.flush()

    def expire_streams(self) -> None:
        """End every open stream, as Slack does after five minutes."""
        for channel in self.world.channels.values():
            for message in channel.messages.values():
                if message.stream:
                    message.stream.ended = True

    def subscribe(self, url: str) -> None:
        """Deliver by signed HTTP requests to a URL ("": by Socket Mode)."""
        self.requests.url = url
        self.outbox.flush()

    def inject(self, payload: dict[str, Any], type: str = "events_api") -> str:
        """Deliver a payload as it is; return the id of its envelope."""
        return self.outbox.put(type, payload).id

    def view(self, channel: str) -> dict[str, Any]:
        """Return one channel as a person sees it now; a person's id means their direct message."""
        return view(self.world.known(channel), self._monotonic(), self.api.lifetime)

    def views(self) -> list[dict[str, Any]]:
        return [self.view(channel) for channel in self.world.channels]

    def _own_counters(self) -> dict[str, Any]:
        return {
            "connections": self.socket.connections,
            "unacked_events": self.outbox.unacked,
            "acked_events": self.outbox.acked,
            "previews": list(self.world.previews.fetched),
        }

    async def _close(self) -> None:
        self.outbox.reset()
        self.socket.close_all()
        await self.requests.close()

    def _clear(self) -> None:
        self.world.channels.clear()
        self.world.users.clear()
        self.world.files.clear()
        self.world.viewing.clear()
        self.world.response_urls.clear()
        self.world.previews.fetched.clear()
        self.outbox.reset()

    def _carry(self, envelope: Envelope) -> bool:
        if self.requests.url:
            self.requests.carry(envelope, self.outbox)
            return True
        return self.socket.carry(envelope)

    def _to_json(self, result: Any) -> Any:
        return (
            {**seen(result, 0.0, 0.0), "channel": result.channel}
            if isinstance(result, SlackChatMessage)
            else result
        )
