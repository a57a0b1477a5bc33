"""Feishu emulator: state, API, long connection, callbacks, people and their controls."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from roebot_testing.emulators.base import Emulator, Handler
from roebot_testing.emulators.feishu import registration
from roebot_testing.emulators.feishu.api import TOKEN_PATH, FeishuApi
from roebot_testing.emulators.feishu.contacts import Credentials
from roebot_testing.emulators.feishu.events import Envelopes
from roebot_testing.emulators.feishu.people import ADA, FeishuPeople
from roebot_testing.emulators.feishu.pushes import Hooks, Push, Pushes
from roebot_testing.emulators.feishu.socket import ENDPOINT_PATH, SOCKET_PATH, LongConnection
from roebot_testing.emulators.feishu.state import FeishuMessage, seen, view
from roebot_testing.emulators.feishu.workspace import DEFAULT_APP_ID, DEFAULT_APP_SECRET, FeishuWorkspace
from roebot_testing.emulators.limits import RateLimits
from roebot_testing.emulators.server import Receive, Scope, Send
from roebot_testing.emulators.transcript import FrameKind


class FeishuEmulator(Emulator):
    """One tenant with one app. `scale` shortens the periods of limits, lifetimes and redelivery.

    `people` performs the actions of people.
    """

    TITLE: ClassVar[str] = "Feishu"
    PORT: ClassVar[int] = 8083
    CREDENTIALS: ClassVar[tuple[str, ...]] = ("app_id", "app_secret")
    OPTIONS: ClassVar[tuple[str, ...]] = ("app_id", "app_secret")
    people: FeishuPeople
    api: FeishuApi
    rate_limits: RateLimits

    def __init__(
        self,
        *,
        port: int = 0,
        app_id: str = DEFAULT_APP_ID,
        app_secret: str = DEFAULT_APP_SECRET,
        scale: float = 1.0,
        limits: bool = True,
        verification_token: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(port, monotonic)
        self.app_id = app_id
        self.app_secret = app_secret
        self.world = FeishuWorkspace(scale=scale, monotonic=monotonic)
        self.world.bot.app_id = app_id
        self.rate_limits = RateLimits(scale=scale, enabled=limits)
        self.credentials = Credentials(app_id, app_secret)
        self.pushes = Pushes(self.world)
        self.socket = LongConnection(self.credentials, self.pushes, lambda: self.url)
        self.envelopes = Envelopes(self.world, app_id, verification_token)
        self.people = FeishuPeople(self.world, self.envelopes, self.pushes.put, self._record)
        self.api = FeishuApi(self.world, self.credentials, self.rate_limits, self.transcript)
        self.registration = registration.AppRegistration(self._create_app, lambda: self.url, monotonic)
        self.hooks: Hooks | None = None

    @property
    def url(self) -> str:
        """Origin in place of https://open.feishu.cn."""
        return self._server.url

    def find_handler(self, path: str) -> Handler | None:
        if path == registration.PATH:
            return self.registration.handle
        if path in (ENDPOINT_PATH, TOKEN_PATH):
            return self.socket.endpoint if path == ENDPOINT_PATH else self.api.issue_token
        return self.api.call if path.startswith("/open-apis/") else None

    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == SOCKET_PATH:
            await self.socket.connect(scope, receive, send)

    def callbacks(self, url: str, *, encrypt_key: str = "") -> Hooks:
        """Push events to a URL from now on instead of over the long connection."""
        self.hooks = Hooks(url, encrypt_key, self.envelopes.token)
        self.pushes.line = self.hooks
        self.pushes.flush()
        return self.hooks

    def revoke_token(self) -> None:
        """Revoke the app's secret and tokens, and close its connections."""
        self.credentials.revoked = True
        self.socket.close_all()

    def restore_token(self) -> None:
        """Accept the app's secret and tokens again."""
        self.credentials.revoked = False

    def expire_tokens(self) -> None:
        """Expire every tenant access token; the secret stays valid."""
        self.credentials.expire()

    def revoke_scopes(self, scopes: Sequence[str]) -> None:
        """Take scopes from the app: methods that require them are refused, events no longer pushed."""
        self.world.scopes.difference_update(scopes)

    def grant_scopes(self, scopes: Sequence[str]) -> None:
        """Give scopes to the app."""
        self.world.scopes.update(scopes)

    def confirm_app(self, link: str, user: str = ADA, brand: str = "feishu") -> None:
        """Confirm on the page of a link that the app is created. `brand` is feishu or lark."""
        self.registration.confirm(link, user, brand)

    def decline_app(self, link: str) -> None:
        """Decline on the page of a link that the app is created."""
        self.registration.decline(link)

    def expire_codes(self) -> None:
        """Let the links that create apps expire."""
        self.registration.expire()

    def _create_app(self, request: registration.AppRequest) -> tuple[str, str]:
        """Give the app the scopes that were confirmed; the real template adds some of its own."""
        self.world.scopes = set(request.addons.get("scopes", {}).get("tenant", ()))
        return self.app_id, self.app_secret

    def set_windows(self, edit: float, recall: float) -> None:
        """Set the seconds after sending within which messages can be edited and recalled, as administrators
        do; at first there is no end.
        """
        self.world.edit_seconds, self.world.recall_seconds = edit, recall

    def expire_streams(self) -> None:
        """Expire the streaming mode of every card, as Feishu does after ten minutes."""
        for card in self.world.cards.values():
            if card.streaming_until:
                card.streaming_until = self._monotonic()

    def redeliver(self, count: int = 1) -> None:
        """Push the last events again."""
        self.pushes.redeliver(count)

    def duplicate(self, copies: int = 1) -> None:
        """Push a number of further copies of every event at once."""
        self.pushes.duplicates = copies

    def stall(self) -> None:
        """Push nothing until `release`."""
        self.pushes.stalled = True

    def release(self, backwards: bool = False) -> None:
        """End `stall`; `backwards` pushes the waiting events in reverse order."""
        self.pushes.stalled = False
        self.pushes.flush(backwards=backwards)

    def close_sockets(self) -> int:
        """Close every long connection and return their number."""
        return self.socket.close_all()

    def inject(self, event: dict[str, Any]) -> Push:
        """Push an event as it is."""
        return self.pushes.put(event)

    def view(self, chat: str) -> dict[str, Any]:
        """Return one chat as a person sees it now."""
        return view(self.world.chats[chat], self._monotonic())

    def views(self) -> list[dict[str, Any]]:
        return [view(chat, self._monotonic()) for chat in self.world.chats.values()]

    def _own_counters(self) -> dict[str, Any]:
        return {
            "connections": self.socket.count,
            "pings": self.socket.pings,
            "waiting_events": len(self.pushes.waiting),
            "unanswered_events": sum(not push.answer for push in self.pushes.sent),
            "redelivered": self.pushes.redelivered,
        }

    async def _close(self) -> None:
        await self.pushes.close()
        if self.hooks is not None:
            await self.hooks.close()

    def _clear(self) -> None:
        self.world.reset()
        self.pushes.reset()
        self.registration.reset()

    def _record(self, message: FeishuMessage, method: str) -> None:
        self.transcript.add(
            FrameKind.PERSON, method, chat=message.chat.id, message_id=message.id, text=message.text
        )

    def _to_json(self, result: Any) -> Any:
        if isinstance(result, FeishuMessage):
            return {**seen(result, self._monotonic()), "chat": result.chat.id}
        if isinstance(result, Hooks):
            return {"url": result.url}
        if isinstance(result, Push):
            return {"event_id": result.id, "tries": result.tries, "answer": result.answer}
        return result
