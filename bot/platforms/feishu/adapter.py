"""The adapter of one app on Feishu or Lark."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from bot.config import FeishuAccount
from bot.domain import (
    Attachment,
    ChatDescription,
    HistoryMessage,
    InboundMessage,
    MentionKind,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
)
from bot.errors import AccountLost, AccountRefused, DeliveryCategory
from bot.platforms.base import AdapterContext, WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth, ConnectedAdapter, CredentialWatch, open_task_group
from bot.platforms.feishu.callback import FeishuCallback
from bot.platforms.feishu.cards import MAX_CHOICES
from bot.platforms.feishu.client import ROOTS, FeishuClient
from bot.platforms.feishu.contacts import FeishuContacts
from bot.platforms.feishu.errors import BAD_SECRET, FeishuError, FeishuRefused, delivery_error
from bot.platforms.feishu.event_handler import FeishuCounts, FeishuEventHandler
from bot.platforms.feishu.files import FeishuFiles
from bot.platforms.feishu.forwarded import FeishuForwarded
from bot.platforms.feishu.inbound import FeishuIdentity, FeishuInbound
from bot.platforms.feishu.outbound import FeishuOutbound
from bot.platforms.feishu.socket import FeishuSocket
from bot.platforms.feishu.streams import FeishuStreams
from bot.platforms.feishu.threads import FeishuThreads
from bot.render.feishu import FEISHU
from bot.render.renderer import Renderer

_FOR_PEOPLE = frozenset({DeliveryCategory.PERMISSION, DeliveryCategory.INVALID_PAYLOAD})


@dataclass(frozen=True, slots=True)
class FeishuSession:
    """The parts of a connected account."""

    outbound: FeishuOutbound
    files: FeishuFiles
    threads: FeishuThreads
    streams: FeishuStreams
    receiver: FeishuSocket | FeishuCallback
    credentials: CredentialWatch
    people: FeishuContacts

    async def run(self) -> None:
        async with open_task_group() as group:
            group.create_task(self.streams.run(), name="feishu-streams")
            group.create_task(self.receiver.run(), name="feishu-receive")
            group.create_task(self.credentials.run(), name="feishu-refused")

    async def finish(self) -> None:
        """Wait for nothing: Feishu sends again what was not acknowledged."""


class FeishuAdapter(ConnectedAdapter[FeishuSession]):
    """Receives over the long connection or by callbacks, and answers with cards that grow."""

    title = "Feishu"
    renderer: Renderer = FEISHU
    repeats_safely = True
    """By the `uuid` of im-v1 message/create and reply, kept for an hour."""
    most_choices = MAX_CHOICES
    mention_kinds = frozenset({MentionKind.PERSON})

    def __init__(self, name: str, config: FeishuAccount) -> None:
        super().__init__(name)
        self.counts = FeishuCounts()
        """Events received since the last start."""
        self._config = config

    async def send(self, message: OutboundMessage) -> str:
        return await self.session.outbound.send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self.session.outbound.edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        return self._session is not None and self._session.outbound.is_streaming(message_id)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.delete(message_id)

    async def send_file(self, file: OutboundFile) -> str:
        return await self.session.files.send(file)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async with aclosing(self.session.files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        """Return the name of a group and its number of people."""
        return await self.session.people.describe_chat(address.chat)

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        return await self.session.threads.read_history(address, before, limit)

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """Store one event; 404 in mode socket, 503 while the account is not connected."""
        if self._config.mode == "socket":
            return WebhookAnswer(404)
        receiver = self._session.receiver if self._session is not None else None
        return await receiver.receive(request) if isinstance(receiver, FeishuCallback) else WebhookAnswer(503)

    @asynccontextmanager
    async def connect(self, context: AdapterContext, health: AccountHealth) -> AsyncIterator[FeishuSession]:
        app_id, secret = self._config.app_id, self._config.app_secret
        if not app_id or secret is None:
            raise AccountRefused(f"account {self.name} has no app_id or no app_secret")
        root = self._config.base_url or ROOTS[self._config.domain]
        credentials = CredentialWatch(self._refuse_secret)
        client = FeishuClient(app_id, secret.get_secret_value(), root, context.clock, credentials.report)
        try:
            await client.open()
            identity = await self._sign_in(client)
            health.identity = identity.name
            people = FeishuContacts(client, context.clock, frozenset({app_id, identity.open_id}))
            streams = FeishuStreams(client, context.clock, scale=self._config.rate_scale)
            outbound = FeishuOutbound(client, streams, context.clock, health, people.note_own_message)

            def on_choice(click: InboundMessage) -> None:
                origin = click.origin
                address = ReplyAddress(self.name, origin.chat, origin.chat_kind, origin.topic)
                streams.queue_choice(origin.reply_to, click.text, address)

            forwarded = FeishuForwarded(people, identity.open_id)
            inbound = FeishuInbound(self.name, identity, people, forwarded)
            events = FeishuEventHandler(
                self.name, inbound, context.inbox, context.clock, health, on_choice, streams.note_recall
            )
            self.counts = events.counts
            receiver = self._make_receiver(client, events, context, health)
            files, threads = FeishuFiles(client, outbound), FeishuThreads(client, identity, people, forwarded)
            yield FeishuSession(outbound, files, threads, streams, receiver, credentials, people)
        finally:
            await client.close()

    async def _sign_in(self, client: FeishuClient) -> FeishuIdentity:
        try:
            answer = await client.call("GET", "bot/v3/info")
        except FeishuRefused as error:
            if error.code in BAD_SECRET:
                raise self._refuse_secret(str(error)) from None
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

    def _make_receiver(
        self, client: FeishuClient, events: FeishuEventHandler, context: AdapterContext, health: AccountHealth
    ) -> FeishuSocket | FeishuCallback:
        if self._config.mode == "socket":
            return FeishuSocket(self.name, client, events, context.clock, health)
        key, token = (
            secret.get_secret_value() if secret is not None else ""
            for secret in (self._config.encrypt_key, self._config.verification_token)
        )
        if not key and not token:
            raise AccountRefused(
                f"account {self.name} is in mode webhook and has neither encrypt_key nor verification_token: "
                "anybody could send it events (Events & Callbacks, Encryption Strategy)"
            )
        return FeishuCallback(
            self.name, events, context.clock, health, encrypt_key=key, verification_token=token
        )

    def _refuse_secret(self, reason: str) -> AccountRefused:
        return AccountRefused(
            f"Feishu refuses app id or secret of account {self.name} ({reason}): the console shows the "
            "current ones under Credentials & Basic Info; domain must be lark for an app on larksuite.com"
        )


def create(name: str, config: FeishuAccount) -> FeishuAdapter:
    """Create the adapter of an account; the manifest names this factory."""
    return FeishuAdapter(name, config)
