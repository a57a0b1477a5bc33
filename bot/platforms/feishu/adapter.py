"""One app on Feishu or Lark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress

from bot.config import FeishuAccount
from bot.domain import Attachment, HistoryMessage, InboundMessage, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import AccountLost, AccountRefused, DeliveryCategory, DeliveryError
from bot.platforms.base import AdapterContext, WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth
from bot.platforms.feishu.callback import FeishuCallback
from bot.platforms.feishu.cards import MAX_CHOICES
from bot.platforms.feishu.client import ROOTS, FeishuClient
from bot.platforms.feishu.contacts import FeishuContacts
from bot.platforms.feishu.errors import BAD_SECRET, FeishuError, FeishuRefused, delivery_error
from bot.platforms.feishu.event_handler import FeishuCounts, FeishuEventHandler
from bot.platforms.feishu.files import FeishuFiles
from bot.platforms.feishu.inbound import FeishuIdentity, FeishuInbound
from bot.platforms.feishu.outbound import FeishuOutbound
from bot.platforms.feishu.socket import FeishuSocket
from bot.platforms.feishu.streams import FeishuStreams
from bot.platforms.feishu.threads import FeishuThreads
from bot.render.feishu import FEISHU
from bot.render.renderer import Renderer


class FeishuAdapter:
    """Receives over the long connection or by callbacks, and answers with cards that grow."""

    repeats_safely = True
    """See RepeatsSafely: `uuid` of im-v1 message/create and reply, kept for an hour."""

    def __init__(self, name: str, config: FeishuAccount) -> None:
        self.name = name
        self._callback: FeishuCallback | None = None
        self._config = config
        self._client: FeishuClient | None = None
        self._outbound: FeishuOutbound | None = None
        self._files: FeishuFiles | None = None
        self._threads: FeishuThreads | None = None
        self._events: FeishuEventHandler | None = None
        self._work: asyncio.Task[None] | None = None
        self._stopping = False
        self._ended = asyncio.Event()

    @property
    def renderer(self) -> Renderer:
        return FEISHU

    @property
    def counts(self) -> FeishuCounts:
        """Events received since the last start."""
        return self._events.counts if self._events is not None else FeishuCounts()

    async def start(self, context: AdapterContext) -> None:
        self._ended.clear()
        self._stopping = False
        health = AccountHealth("Feishu", context.report, context.clock)
        health.mark_connecting()
        try:
            self._work = asyncio.create_task(self._run(context, health), name=f"feishu:{self.name}")
            try:
                await self._work
            except asyncio.CancelledError:
                if not self._stopped():
                    self._work.cancel()
                    await asyncio.gather(self._work, return_exceptions=True)
                    raise
            health.mark_stopped()
        except (AccountRefused, AccountLost) as error:
            health.mark_failed(str(error))
            raise
        finally:
            self._work = None
            await self._close()
            self._ended.set()

    async def stop(self) -> None:
        work = self._work
        if work is None:
            return
        self._stopping = True
        work.cancel()
        await self._ended.wait()

    async def send(self, message: OutboundMessage) -> str:
        return await self._out().send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self._out().edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        del address
        return self._outbound is not None and self._outbound.is_streaming(message_id)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        del address
        await self._out().delete(message_id)

    @property
    def most_choices(self) -> int:
        return MAX_CHOICES

    async def send_file(self, file: OutboundFile) -> str:
        self._out()
        assert self._files is not None
        return await self._files.send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        self._out()
        assert self._files is not None
        async with aclosing(self._files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        self._out()
        assert self._threads is not None
        return await self._threads.read_history(address, before, limit)

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """See ReceivesWebhooks. 404 in mode socket."""
        if self._config.mode == "socket":
            return WebhookAnswer(404)
        return await self._callback.receive(request) if self._callback is not None else WebhookAnswer(503)

    async def _run(self, context: AdapterContext, health: AccountHealth) -> None:
        refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_refused(reason: str) -> None:
            if not refused.done():
                refused.set_result(reason)

        client = await self._opened(context, on_refused)
        identity = await self._identity(client)
        health.identity = identity.name
        events, streams = self._build(context, health, client, identity)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(streams.run(), name="feishu-streams")
                group.create_task(self._receive(context, health, client, events), name="feishu-receive")
                group.create_task(self._watch(refused), name="feishu-refused")
        except BaseExceptionGroup as group:
            # No `except*`: until Python 3.11.4 what it raises comes out in a group again.
            known, others = group.split((AccountRefused, AccountLost))
            if known is None or others is not None:
                raise
            raise known.exceptions[0] from None

    async def _opened(self, context: AdapterContext, on_refused: object) -> FeishuClient:
        app_id, secret = self._config.app_id, self._config.app_secret
        if not app_id or secret is None:
            raise AccountRefused(f"account {self.name} has no app_id or no app_secret")
        assert callable(on_refused)
        root = self._config.base_url or ROOTS[self._config.domain]
        self._client = FeishuClient(app_id, secret.get_secret_value(), root, context.clock, on_refused)
        await self._client.open()
        return self._client

    async def _identity(self, client: FeishuClient) -> FeishuIdentity:
        try:
            answer = await client.call("GET", "bot/v3/info")
        except FeishuRefused as error:
            if error.code in BAD_SECRET:
                raise self._refused(str(error)) from None
            if delivery_error(error, posting=False).category in _FOR_PEOPLE:
                raise AccountRefused(
                    f"Feishu does not let account {self.name} act as a bot ({error}): add the feature Bot to "
                    "the app and release a version of it"
                ) from None
            raise AccountLost(f"Feishu answers: {error}") from None
        except FeishuError as problem:
            raise AccountLost(f"cannot reach Feishu: {problem}") from None
        bot = answer.body.get("bot")
        open_id = bot.get("open_id") if isinstance(bot, dict) else None
        if not isinstance(bot, dict) or not isinstance(open_id, str):
            raise AccountLost("Feishu does not say who the bot is")
        return FeishuIdentity(open_id, str(bot.get("app_name") or ""))

    def _build(
        self, context: AdapterContext, health: AccountHealth, client: FeishuClient, identity: FeishuIdentity
    ) -> tuple[FeishuEventHandler, FeishuStreams]:
        bot_ids = frozenset({str(self._config.app_id), identity.open_id})
        people = FeishuContacts(client, context.clock, bot_ids)
        streams = FeishuStreams(client, context.clock, scale=self._config.rate_scale)
        self._outbound = FeishuOutbound(client, streams, context.clock, health, people.note_own_message)
        self._files = FeishuFiles(client, self._outbound)
        self._threads = FeishuThreads(client, identity, people)
        inbound = FeishuInbound(self.name, identity, people)

        def on_choice(click: InboundMessage) -> None:
            origin = click.origin
            address = ReplyAddress(self.name, origin.chat, origin.chat_kind, origin.topic)
            streams.queue_choice(origin.reply_to, click.text, address)

        self._events = FeishuEventHandler(
            self.name, inbound, context.inbox, context.clock, health, on_choice, streams.note_recall
        )
        return self._events, streams

    async def _receive(
        self, context: AdapterContext, health: AccountHealth, client: FeishuClient, events: FeishuEventHandler
    ) -> None:
        if self._config.mode == "socket":
            await FeishuSocket(self.name, client, events, context.clock, health).run()
            return
        key, token = (
            secret.get_secret_value() if secret is not None else ""
            for secret in (self._config.encrypt_key, self._config.verification_token)
        )
        if not key and not token:
            raise AccountRefused(
                f"account {self.name} is in mode webhook and has neither encrypt_key nor verification_token: "
                "anybody could send it events (Events & Callbacks, Encryption Strategy)"
            )
        self._callback = FeishuCallback(
            self.name, events, context.clock, encrypt_key=key, verification_token=token
        )
        health.mark_live()
        await asyncio.get_running_loop().create_future()

    async def _watch(self, refused: asyncio.Future[str]) -> None:
        raise self._refused(await refused)

    def _refused(self, reason: str) -> AccountRefused:
        return AccountRefused(
            f"Feishu refuses app id or secret of account {self.name} ({reason}): the console shows the "
            "current ones under Credentials & Basic Info; domain must be lark for an app on larksuite.com"
        )

    async def _close(self) -> None:
        client = self._client
        self._files = self._threads = self._outbound = self._client = self._callback = None
        if client is not None:
            with suppress(asyncio.CancelledError):
                await client.close()

    def _stopped(self) -> bool:
        return self._stopping

    def _out(self) -> FeishuOutbound:
        if self._outbound is None:
            raise DeliveryError(DeliveryCategory.TRANSIENT, f"account {self.name} is not connected")
        return self._outbound


_FOR_PEOPLE = frozenset({DeliveryCategory.PERMISSION, DeliveryCategory.INVALID_PAYLOAD})


def create(name: str, config: FeishuAccount) -> FeishuAdapter:
    """The factory that the manifest names."""
    return FeishuAdapter(name, config)
