"""One app in one Slack workspace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.config import SlackAccount
from bot.domain import Attachment, HistoryMessage, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import AccountError, AccountLost, AccountRefused, DeliveryCategory, DeliveryError
from bot.platforms.base import AdapterContext, WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth
from bot.platforms.slack.app_manifest import BOT_SCOPES
from bot.platforms.slack.choices import MAX_CHOICES, SlackClick
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.directory import SlackDirectory
from bot.platforms.slack.errors import CALL_ERRORS, DEAD_TOKEN, refusal_name
from bot.platforms.slack.events import SlackCounts, SlackReceiver
from bot.platforms.slack.files import SlackFiles
from bot.platforms.slack.inbound import SlackIdentity
from bot.platforms.slack.outbound import SlackOutbound
from bot.platforms.slack.socket import SlackSocket
from bot.platforms.slack.streams import SlackStreams
from bot.platforms.slack.threads import SlackThreads
from bot.platforms.slack.usergroups import SCOPE as GROUPS_SCOPE
from bot.platforms.slack.usergroups import UserGroups
from bot.platforms.slack.web_api import SlackWebApi
from bot.platforms.slack.webhook import SlackWebhook
from bot.render.renderer import Renderer
from bot.render.slack import SLACK

log = structlog.get_logger(__name__)

STOP_SECONDS = 0.8
_LEAST_SCOPES = frozenset({"chat:write"})


class SlackAdapter:
    """Receives by Socket Mode or signed requests and answers with native streams.

    Repeats are safe: a part carries its key as metadata and is looked for before it is posted again;
    what one person alone sees can't be found.
    """

    repeats_safely = True
    """See RepeatsSafely."""
    shows_alone = True
    """See ShowsAlone."""
    most_choices = MAX_CHOICES
    """See AsksChoice."""

    def __init__(self, name: str, config: SlackAccount) -> None:
        self.name = name
        secret = config.signing_secret
        self._webhook = SlackWebhook(secret.get_secret_value() if secret is not None else "")
        self._config = config
        self._client: SlackClient | None = None
        self._outbound: SlackOutbound | None = None
        self._reads_groups = False
        self._files: SlackFiles | None = None
        self._threads: SlackThreads | None = None
        self._receiver: SlackReceiver | None = None
        self._running: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def renderer(self) -> Renderer:
        return SLACK

    @property
    def counts(self) -> SlackCounts:
        """Events received since the last start."""
        return self._receiver.counts if self._receiver is not None else SlackCounts()

    async def start(self, context: AdapterContext) -> None:
        self._ended.clear()
        self._stopping.clear()
        self._running = asyncio.current_task()
        health = AccountHealth("Slack", context.report, context.clock)
        health.mark_connecting()
        try:
            await self._run(context, health)
            health.mark_stopped()
        except AccountError as error:
            health.mark_failed(str(error))
            raise
        finally:
            self._running = None
            await self._close()
            self._ended.set()

    async def stop(self) -> None:
        running = self._running
        if running is None:
            return
        self._stopping.set()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            running.cancel()
            await self._ended.wait()

    async def send(self, message: OutboundMessage) -> str:
        return await self._out().send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self._out().edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        return self._outbound is not None and self._outbound.is_streaming(address, message_id)

    def lists_in(self, address: ReplyAddress) -> bool:
        """See ShowsProgress: where there can be a stream, which has tasks; without one they are text."""
        return self._outbound is not None and self._outbound.lists_in(address)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self._out().delete(address, message_id)

    async def typing(self, address: ReplyAddress) -> None:
        await self._out().show_typing(address)

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """See ReceivesWebhooks. 404 in mode socket."""
        return await self._webhook.answer(request) if self._config.mode == "http" else WebhookAnswer(404)

    async def send_file(self, file: OutboundFile) -> str:
        self._out()
        assert self._files is not None
        return await self._files.send(file)

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        self._out()
        assert self._threads is not None
        return await self._threads.read_history(address, before, limit)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        self._out()
        assert self._files is not None
        async with aclosing(self._files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _run(self, context: AdapterContext, health: AccountHealth) -> None:
        """Live until told to stop. Raises AccountError."""
        try:
            async with asyncio.TaskGroup() as group:
                living = group.create_task(self._live(context, health, group), name=f"slack:{self.name}")
                stopping = group.create_task(self._stopping.wait())
                await asyncio.wait({living, stopping}, return_when=asyncio.FIRST_COMPLETED)
                raise _Stopped
        except BaseExceptionGroup as problems:
            _, others = problems.split(_Stopped)
            if others is not None:
                raise _first(others) from None

    async def _live(self, context: AdapterContext, health: AccountHealth, group: asyncio.TaskGroup) -> None:
        client, identity = await self._connect(health)
        refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_refused(name: str) -> None:
            if not refused.done():
                refused.set_result(name)

        calls = SlackWebApi(self.name, client, health, on_refused)
        group.create_task(self._watch(refused), name=f"slack-refused:{self.name}")
        groups = UserGroups(client, context.clock, granted=self._reads_groups)
        places = SlackDirectory(client, identity.user, identity.team, context.clock, groups)
        scale = self._config.rate_scale
        streams = SlackStreams(calls, context.clock, group, scale)
        secret = self._config.signing_secret
        over_http = self._config.mode == "http"
        outbound = self._outbound = SlackOutbound(
            client, calls, streams, places, identity, context.clock, scale
        )

        def settle(click: SlackClick, refusal: str | None) -> None:
            answer = outbound.show_choice(click) if refusal is None else outbound.refuse_click(click, refusal)
            group.create_task(answer, name=f"slack-click:{click.ts}")

        receiver = self._receiver = SlackReceiver(
            self.name,
            identity,
            context.inbox,
            places,
            health,
            settle,
            secret.get_secret_value() if secret and over_http else "",
        )
        self._files = SlackFiles(client, calls, outbound)
        self._threads = SlackThreads(calls, places, identity)
        if over_http:
            self._webhook.take = receiver.receive_request
            health.mark_live()
            await asyncio.get_running_loop().create_future()
        await SlackSocket(self.name, client, receiver.receive_envelope, context.clock, health).run()

    async def _connect(self, health: AccountHealth) -> tuple[SlackClient, SlackIdentity]:
        token = _secret(self.name, "bot_token", self._config.bot_token)
        app_token = ""
        if self._config.mode == "socket":
            app_token = _secret(self.name, "app_token", self._config.app_token)
        else:
            _secret(self.name, "signing_secret", self._config.signing_secret)
        client = self._client = SlackClient(token, app_token, self._config.base_url)
        await client.open()
        try:
            me = await client.web.auth_test()
        except SlackApiError as error:
            name = refusal_name(error)
            if name in DEAD_TOKEN:
                raise self._refused(name) from None
            raise AccountLost(f"Slack answers: {name or error.response.status_code}") from None
        except CALL_ERRORS as error:
            raise AccountLost(f"cannot reach Slack ({type(error).__name__})") from None
        identity = _identity(me)
        health.identity = f"@{identity.name}"
        self._check_scopes(me, health)
        return client, identity

    async def _watch(self, refused: asyncio.Future[str]) -> None:
        """Fail the account when a call is told that its token is not known any more."""
        raise self._refused(await refused)

    def _refused(self, name: str) -> AccountRefused:
        return AccountRefused(
            f"Slack refuses the bot_token of account {self.name} ({name}): install the app again on "
            "Install App and take the Bot User OAuth Token (xoxb-…) from there"
        )

    def _check_scopes(self, me: AsyncSlackResponse, health: AccountHealth) -> None:
        granted = {scope.strip() for scope in str(me.headers.get("x-oauth-scopes", "")).split(",")} - {""}
        self._reads_groups = GROUPS_SCOPE in granted
        missing = sorted(set(BOT_SCOPES) - granted) if granted else []
        if _LEAST_SCOPES & set(missing):
            raise AccountRefused(
                f"the app of account {self.name} lacks the scope chat:write: add it on OAuth & Permissions "
                "and install the app again"
            )
        if missing:
            names = ", ".join(missing)
            log.warning("slack.scopes_missing", account=self.name, scopes=names)
            health.set_note(
                f"the app lacks the scopes {names}: add them on OAuth & Permissions and install the app again"
            )

    async def _close(self) -> None:
        client = self._client
        self._files = self._outbound = self._client = self._threads = None
        self._webhook.take = None
        if client is not None:
            await client.close()

    def _out(self) -> SlackOutbound:
        if self._outbound is None:
            raise DeliveryError(DeliveryCategory.TRANSIENT, f"account {self.name} is not connected")
        return self._outbound


class _Stopped(Exception):
    """Told to stop, or the work has ended: the rest is cancelled."""


def create(name: str, config: SlackAccount) -> SlackAdapter:
    """The factory that the manifest names."""
    return SlackAdapter(name, config)


def _first(problems: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error of an account where there is one, else the first."""
    found: list[BaseException] = []
    waiting: list[BaseException] = [problems]
    while waiting:
        problem = waiting.pop(0)
        if isinstance(problem, BaseExceptionGroup):
            waiting.extend(problem.exceptions)
        else:
            found.append(problem)
    return next((problem for problem in found if isinstance(problem, AccountError)), found[0])


def _secret(account: str, key: str, value: object) -> str:
    read = getattr(value, "get_secret_value", None)
    if read is None:
        raise AccountRefused(f"account {account} has no {key}")
    return str(read())


def _identity(me: AsyncSlackResponse) -> SlackIdentity:
    user, team = me.get("user_id"), me.get("team_id")
    if not isinstance(user, str) or not isinstance(team, str):
        raise AccountLost("Slack's answer to auth.test is not that of the Web API")
    url = str(me.get("url") or "")
    return SlackIdentity(user, str(me.get("bot_id") or ""), team, str(me.get("user") or ""), url)
