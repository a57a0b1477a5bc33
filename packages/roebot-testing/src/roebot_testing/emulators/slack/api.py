"""The Web API: tokens and limits of its methods; uploads, downloads and response URLs."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from typing import Any, ClassVar

from roebot_testing.emulators.api import CallResult, PlatformApi
from roebot_testing.emulators.faults import AFTER, BEFORE, Fault, FaultKind
from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.limits import CallLimit, RateLimits
from roebot_testing.emulators.slack.arguments import check_arguments
from roebot_testing.emulators.slack.blocks import check_blocks
from roebot_testing.emulators.slack.calls import SlackCall
from roebot_testing.emulators.slack.errors import SlackApiError, rate_limited
from roebot_testing.emulators.slack.methods import METHODS
from roebot_testing.emulators.slack.scopes import CONNECTIONS_OPEN, check_scopes
from roebot_testing.emulators.slack.workspace import STREAM_SECONDS, SlackWorkspace
from roebot_testing.emulators.transcript import FrameKind, Transcript

PREFIX = "/api/"
POST_LIMIT = CallLimit("chat.postMessage", 1, 1.0)
"""One post a second in a channel (docs.slack.dev/apis/web-api/rate-limits)."""
STATUS_LIMIT = CallLimit("assistant.threads.setStatus", 1, 1.0)
"""In the tier of chat.postMessage (slackapi/java-slack-sdk, MethodsRateLimitTier)."""
CONNECT_LIMIT = CallLimit(CONNECTIONS_OPEN, 20, 60.0)
"""Tier 1 is "one a minute and some burst"; the size of the burst is not published."""
RESPONSE_USES, RESPONSE_SECONDS = 5, 1800.0
"""Uses of a response URL, and its life in seconds (docs.slack.dev, handling user interaction)."""
_LOGIN_PAGE = b"<!DOCTYPE html><html><title>Sign in</title></html>"

Announce = Callable[..., None]


class WebApi(PlatformApi[SlackCall]):
    """Answers the calls of one app."""

    FAULTS_FIRST: ClassVar[bool] = True
    NOT_FOUND: ClassVar[dict[str, Any]] = {"ok": False, "error": "not_found"}

    def __init__(
        self,
        world: SlackWorkspace,
        limits: RateLimits,
        transcript: Transcript,
        *,
        bot_token: str,
        app_token: str,
        origin: Callable[[], str],
        announce: Announce,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(limits, transcript, monotonic)
        self.bot_token = bot_token
        self.app_token = app_token
        self.tickets = 0
        self._world = world
        self._origin = origin
        self._announce = announce

    @property
    def lifetime(self) -> float:
        """Seconds that a stream stays open."""
        return STREAM_SECONDS * float(self._limits.scale)

    def open(self, http: Exchange) -> SlackCall:
        name = http.path.removeprefix(PREFIX)
        return SlackCall(
            name=name,
            kind=METHODS[name].kind if name in METHODS else FrameKind.OTHER,
            world=self._world,
            lifetime=self.lifetime,
            origin=self._origin(),
            announce=self._announce,
        )

    def authorize(self, call: SlackCall) -> None:
        expected = self.app_token if call.name == CONNECTIONS_OPEN else self.bot_token
        if not call.token:
            raise SlackApiError("not_authed")
        if self.revoked:
            raise SlackApiError("token_revoked")
        if not hmac.compare_digest(call.token.encode(), expected.encode()):
            wrong_kind = call.token[:5] != expected[:5]
            raise SlackApiError("not_allowed_token_type" if wrong_kind else "invalid_auth")
        check_scopes(call.name, call.values, self._world)

    def limit(self, call: SlackCall) -> None:
        call.now = self._monotonic()
        method = METHODS.get(call.name)
        if call.name == CONNECTIONS_OPEN:
            limits = [(CONNECT_LIMIT, "")]
        elif method is None:
            raise SlackApiError("unknown_method")
        else:
            limits = [(CallLimit(call.name, method.per_minute, 60.0), "")] if method.per_minute else []
            limits += [(limit, call.chat) for limit in (POST_LIMIT, STATUS_LIMIT) if limit.name == call.name]
        penalty = call.chat if call.kind is not FrameKind.OTHER else ""
        wait = self._limits.take(limits, call.now, penalty)
        if wait > 0:
            raise rate_limited(wait)

    async def do(self, call: SlackCall) -> CallResult:
        if call.name == CONNECTIONS_OPEN:
            self.tickets += 1
            address = call.origin.replace("http://", "ws://")
            return CallResult({"url": f"{address}/link/?ticket={self.tickets}"})
        check_arguments(call.name, call.values)
        return METHODS[call.name].call(call)

    def success(self, call: SlackCall) -> dict[str, Any]:
        call.headers = ((b"x-oauth-scopes", self._world.scopes.encode()),)
        return {"ok": True, **(call.result.body if call.result else {})}

    def refusal(self, fault: Fault) -> SlackApiError:
        return SlackApiError(fault.description, fault.status)

    def detail(self, call: SlackCall, body: dict[str, Any]) -> str:
        return str(body.get("error", ""))

    def record(self, call: SlackCall, status: int, body: dict[str, Any]) -> None:
        """Record a refusal, which Slack answers with HTTP 200, as 400."""
        super().record(call, status if status != 200 or body["ok"] else 400, body)

    async def upload(self, http: Exchange) -> None:
        """Handle the POST of a file's bytes."""
        file = self._world.files.get(http.path.rpartition("/")[2])
        data = await http.body()
        fault = self.faults.strike(BEFORE | AFTER, "upload", "")
        self._transcript.count("upload", 404 if file is None else 200)
        if fault is not None and fault.kind in (FaultKind.CLOSE, FaultKind.DROP):
            await http.cut()
        elif file is None or fault is not None:
            await http.answer(404 if file is None else fault.status if fault else 500, {"ok": False})
        else:
            file.data = data
            await http.answer_bytes(200, b"OK - %d" % len(data), b"text/plain")

    async def download(self, http: Exchange) -> None:
        """Handle the GET of a private file: a wrong token gets a sign-in page, with status 200."""
        file = self._world.files.get(http.path.split("/")[2])
        token = http.headers.get("authorization", "").removeprefix("Bearer ")
        fault = self.faults.strike(BEFORE | AFTER, "download", "")
        if fault is not None and fault.kind is not FaultKind.ERROR:
            self._transcript.count("download", 0)
            await http.cut()
            return
        status = fault.status if fault else 404 if file is None else 200
        self._transcript.count("download", status)
        if file is None or fault is not None:
            await http.answer(status, {"ok": False, "error": "file_not_found"})
        elif self.revoked or not hmac.compare_digest(token, self.bot_token):
            await http.answer_bytes(200, _LOGIN_PAGE, b"text/html; charset=utf-8")
        else:
            await http.answer_bytes(200, file.data, file.mime.encode())

    async def respond(self, http: Exchange) -> None:
        """Handle a response URL: `/respond/<channel>/<user>/<serial>`."""
        _, _, channel_id, user, serial = http.path.split("/")
        body = await http.read_json() or {}
        status, error = self._refuse_response(serial, body)
        if error:
            self._transcript.count("respond", status)
            await http.answer(status, {"ok": False, "error": error})
            return
        channel = self._world.known(channel_id)
        blocks = body.get("blocks") or []
        markdown = next((block["text"] for block in blocks if block.get("type") == "markdown"), "")
        text = markdown or str(body.get("text", ""))
        message = channel.messages.get(self._world.response_urls[serial].message)
        if body.get("replace_original") and message is not None:
            message.text, message.blocks = text, blocks
        else:
            visible_to = "" if body.get("response_type") == "in_channel" else user
            message = self._world.add(
                channel, self._world.bot, text, visible_to=visible_to, blocks=blocks, markdown=bool(markdown)
            )
        self._transcript.count("respond", 200)
        self._transcript.add(
            FrameKind.POST, "respond", chat=channel.id, message_id=message.ts, text=message.text, status=200
        )
        await http.answer(200, {"ok": True})

    def _refuse_response(self, serial: str, body: dict[str, Any]) -> tuple[int, str]:
        """Count a use of a response URL; return the status and name of its refusal, or "" if there is none.

        A URL works five times within thirty minutes (docs.slack.dev, handling user interaction). Content that
        is refused is HTTP 400, as for webhooks (slackapi/java-slack-sdk#1017).
        """
        url = self._world.response_urls.get(serial)
        if url is None or self._monotonic() - url.made >= RESPONSE_SECONDS * self._limits.scale:
            return 404, "expired_url"
        if url.uses >= RESPONSE_USES:
            return 404, "used_url"
        try:
            check_blocks(body.get("blocks") or [])
        except SlackApiError as refusal:
            return 400, refusal.error
        if not (body.get("text") or body.get("blocks") or body.get("delete_original")):
            return 400, "no_text"
        url.uses += 1
        return 200, ""
