"""The parts of a connected account, and their assembly.

The adapter imports this module in a thread when an account connects, since it loads the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.domain import InboundMessage, ReplyAddress
from bot.errors import AccountLost, AccountRefused, DeliveryCategory
from bot.platforms.base import AdapterContext, WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth, CredentialWatch, open_task_group
from bot.platforms.feishu import requests
from bot.platforms.feishu.account import FeishuAccount
from bot.platforms.feishu.callback import FeishuCallback
from bot.platforms.feishu.client import ROOTS, FeishuClient
from bot.platforms.feishu.contacts import FeishuContacts
from bot.platforms.feishu.errors import BAD_SECRET, FeishuError, FeishuRefused, delivery_error
from bot.platforms.feishu.event_handler import FeishuEventHandler
from bot.platforms.feishu.files import FeishuFiles
from bot.platforms.feishu.forwarded import FeishuForwarded
from bot.platforms.feishu.inbound import FeishuIdentity, FeishuInbound
from bot.platforms.feishu.outbound import FeishuOutbound
from bot.platforms.feishu.received_counts import FeishuCounts
from bot.platforms.feishu.socket import FeishuSocket
from bot.platforms.feishu.streams import FeishuStreams
from bot.platforms.feishu.threads import FeishuThreads

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
    counts: FeishuCounts

    async def run(self) -> None:
        async with open_task_group() as group:
            group.create_task(self.streams.run(), name="feishu-streams")
            group.create_task(self.receiver.run(), name="feishu-receive")
            group.create_task(self.credentials.run(), name="feishu-refused")

    async def finish(self) -> None:
        """Return immediately, since Feishu resends unacknowledged events."""

    async def receive(self, request: WebhookRequest) -> WebhookAnswer:
        """Answer a callback; 503 if events arrive over the long connection."""
        if isinstance(self.receiver, FeishuCallback):
            return await self.receiver.receive(request)
        return WebhookAnswer(503)


@asynccontextmanager
async def open_session(
    name: str, config: FeishuAccount, context: AdapterContext, health: AccountHealth
) -> AsyncIterator[FeishuSession]:
    """Sign in and yield the session. Raises AccountRefused and AccountLost."""
    app_id, secret = config.app_id, config.app_secret
    if not app_id or secret is None:
        raise AccountRefused(f"account {name} lacks app_id or app_secret")
    root = config.base_url or ROOTS[config.domain]
    credentials = CredentialWatch(lambda reason: _refuse_secret(name, reason))
    client = FeishuClient(app_id, secret.get_secret_value(), root, context.clock, credentials.report)
    try:
        await client.open()
        identity = await _sign_in(name, client)
        health.identity = identity.name
        people = FeishuContacts(client, context.clock, frozenset({app_id, identity.open_id}))
        streams = FeishuStreams(client, context.clock, scale=config.rate_scale)
        outbound = FeishuOutbound(client, streams, context.clock, health, people.note_own_message)

        def on_choice(click: InboundMessage) -> None:
            origin = click.origin
            address = ReplyAddress(name, origin.chat, origin.chat_kind, origin.topic)
            streams.queue_choice(origin.reply_to, click.text, address)

        forwarded = FeishuForwarded(people, identity.open_id)
        inbound = FeishuInbound(name, identity, people, forwarded, context.inbox)
        events = FeishuEventHandler(
            name, inbound, context.inbox, context.clock, health, on_choice, streams.note_recall
        )
        receiver = _make_receiver(name, config, client, events, context, health)
        files, threads = FeishuFiles(client, outbound), FeishuThreads(client, identity, people, forwarded)
        yield FeishuSession(outbound, files, threads, streams, receiver, credentials, people, events.counts)
    finally:
        await client.close()


async def _sign_in(name: str, client: FeishuClient) -> FeishuIdentity:
    try:
        answer = await client.send(requests.describe_bot())
    except FeishuRefused as error:
        if error.code in BAD_SECRET:
            raise _refuse_secret(name, str(error)) from None
        if delivery_error(error, posting=False).category in _FOR_PEOPLE:
            raise AccountRefused(
                f"Feishu does not let account {name} act as a bot ({error}): add the feature Bot to the app "
                "and release a version of it"
            ) from None
        raise AccountLost(f"Feishu answers: {error}") from None
    except FeishuError as problem:
        raise AccountLost(f"cannot reach Feishu: {problem}") from None
    bot = answer.body.get("bot")
    open_id = bot.get("open_id") if isinstance(bot, dict) else None
    if not isinstance(bot, dict) or not isinstance(open_id, str):
        raise AccountLost("Feishu's response does not identify the bot")
    return FeishuIdentity(open_id, str(bot.get("app_name") or ""))


def _make_receiver(
    name: str,
    config: FeishuAccount,
    client: FeishuClient,
    events: FeishuEventHandler,
    context: AdapterContext,
    health: AccountHealth,
) -> FeishuSocket | FeishuCallback:
    if config.mode == "socket":
        return FeishuSocket(name, client, events, context.clock, health)
    key, token = (
        secret.get_secret_value() if secret is not None else ""
        for secret in (config.encrypt_key, config.verification_token)
    )
    if not key and not token:
        raise AccountRefused(
            f"account {name} is in mode webhook and has neither encrypt_key nor verification_token: "
            "anybody could send it events (Events & Callbacks, Encryption Strategy)"
        )
    return FeishuCallback(name, events, context.clock, health, encrypt_key=key, verification_token=token)


def _refuse_secret(name: str, reason: str) -> AccountRefused:
    return AccountRefused(
        f"Feishu refuses app id or secret of account {name} ({reason}): the console shows the "
        "current ones under Credentials & Basic Info; domain must be lark for an app on larksuite.com"
    )
