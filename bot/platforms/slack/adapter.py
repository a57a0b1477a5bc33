"""The adapter of one Slack app in one workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import structlog
from pydantic import SecretStr
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain import (
    Attachment,
    ChatDescription,
    HistoryMessage,
    MentionKind,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
)
from bot.errors import AccountLost, AccountRefused
from bot.platforms.base import AdapterContext, WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth, ConnectedAdapter, CredentialWatch, open_task_group
from bot.platforms.slack.account import SlackAccount
from bot.platforms.slack.agent_view import SlackAgentView
from bot.platforms.slack.app_manifest import BOT_SCOPES, OPTIONAL_SCOPES, REACTIONS_SCOPE
from bot.platforms.slack.choices import MAX_CHOICES, SlackClick
from bot.platforms.slack.client import SlackClient, SlackWebApi
from bot.platforms.slack.directory import GROUPS_SCOPE, SlackDirectory, SlackUserGroups
from bot.platforms.slack.errors import CALL_ERRORS, DEAD_TOKEN, refusal_name
from bot.platforms.slack.events import SlackCounts, SlackReceiver, SlackWebhook
from bot.platforms.slack.files import SlackFiles
from bot.platforms.slack.inbound import SlackIdentity
from bot.platforms.slack.lookups import SlackLookups
from bot.platforms.slack.outbound import SlackOutbound
from bot.platforms.slack.renderer import SLACK, SLACK_TEXT
from bot.platforms.slack.sessions import SlackSessions
from bot.platforms.slack.socket import SlackSocket
from bot.platforms.slack.streams import SlackStreams
from bot.platforms.slack.threads import SlackThreads
from bot.render.renderer import Renderer

log = structlog.get_logger(__name__)

_LEAST_SCOPES = frozenset({"chat:write"})


@dataclass(frozen=True, slots=True)
class SlackSession:
    """The parts of a connected account."""

    client: SlackClient
    events: SlackReceiver
    outbound: SlackOutbound
    files: SlackFiles
    threads: SlackThreads
    receiver: SlackSocket | SlackWebhook
    directory: SlackDirectory

    async def run(self) -> None:
        await self.receiver.run()

    async def finish(self) -> None:
        """Return immediately, since Slack resends unacknowledged events."""


class SlackAdapter(ConnectedAdapter[SlackSession]):
    """Receives by Socket Mode or signed requests and answers with native streams."""

    title = "Slack"
    repeats_safely = True
    """A part carries its key as metadata and is looked for before it is posted again. Messages for one person
    cannot be found that way."""
    most_choices = MAX_CHOICES
    mention_kinds = frozenset(MentionKind)

    def __init__(self, name: str, config: SlackAccount) -> None:
        super().__init__(name)
        self.mentionable_groups: Mapping[str, str] = config.mention_groups
        self.counts = SlackCounts()
        """Events received since the last start."""
        self._config = config

    @property
    def renderer(self) -> Renderer:
        """The renderer, with shorter parts for a server without Markdown."""
        session = self._session
        return SLACK if session is None or session.outbound.takes_markdown else SLACK_TEXT

    async def send(self, message: OutboundMessage) -> str:
        return await self.session.outbound.send(message)

    def is_untraceable(self, message: OutboundMessage) -> bool:
        """Return whether a message is visible to one person only, since no call can read it."""
        return bool(message.alone)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await self.session.outbound.edit(message, message_id)

    def streaming(self, address: ReplyAddress, message_id: str) -> bool:
        return self._session is None or self._session.outbound.is_streaming(address, message_id)

    def lists_in(self, address: ReplyAddress) -> bool:
        """Return whether a stream is possible: streams have tasks, elsewhere the list is text."""
        return self._session is not None and self._session.outbound.lists_in(address)

    async def delete(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.delete(address, message_id)

    async def typing(self, address: ReplyAddress) -> None:
        await self.session.outbound.show_typing(address)

    def end_typing(self, address: ReplyAddress, turn: int) -> None:
        if self._session is not None:
            self._session.outbound.end_typing(address, turn)

    def reacts_in(self, address: ReplyAddress) -> bool:
        return bool(self._config.reaction)

    async def react(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.react(address, message_id, self._config.reaction)

    async def unreact(self, address: ReplyAddress, message_id: str) -> None:
        await self.session.outbound.unreact(address, message_id, self._config.reaction)

    verifies_signatures = True

    async def webhook(self, request: WebhookRequest) -> WebhookAnswer:
        """Store one event; 404 in mode socket, 503 while the account is not connected."""
        if self._config.mode != "http":
            return WebhookAnswer(404)
        receiver = self._session.receiver if self._session is not None else None
        return await receiver.answer(request) if isinstance(receiver, SlackWebhook) else WebhookAnswer(503)

    async def send_file(self, file: OutboundFile) -> str:
        return await self.session.files.send(file)

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        """Return a channel's name and number of people."""
        return await self.session.directory.describe_channel(address.chat)

    async def list_members(self, kind: str, group: str) -> Mapping[str, str]:
        """Return the people of a user group."""
        return await self.session.directory.list_group(group)

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        return await self.session.threads.read_history(address, before, limit)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async with aclosing(self.session.files.fetch(attachment)) as chunks:
            async for chunk in chunks:
                yield chunk

    @asynccontextmanager
    async def connect(self, context: AdapterContext, health: AccountHealth) -> AsyncIterator[SlackSession]:
        config = self._config
        token = self._require_secret("bot_token", config.bot_token)
        app_token = signing_secret = ""
        if config.mode == "socket":
            app_token = self._require_secret("app_token", config.app_token)
        else:
            signing_secret = self._require_secret("signing_secret", config.signing_secret)
        client = SlackClient(token, app_token, config.base_url)
        try:
            await client.open()
            me = await self._sign_in(client)
            identity = _read_identity(me)
            health.identity = f"@{identity.name}"
            scopes = self._read_scopes(me, health)
            groups = SlackUserGroups(client, context.clock, granted=GROUPS_SCOPE in scopes)
            directory = SlackDirectory(client, identity.user, identity.teams, context.clock, groups)
            async with open_task_group() as group:
                watch = CredentialWatch(self._refuse_token)
                group.create_task(watch.run(), name=f"slack-refused:{self.name}")
                previews = config.link_previews
                calls = SlackWebApi(
                    self.name,
                    client,
                    health,
                    watch.report,
                    previews=previews,
                    feedback=config.feedback_buttons,
                )
                sessions = SlackSessions(calls, context.clock, health, config.rate_scale)
                group.create_task(sessions.run(), name=f"slack-sessions:{self.name}")
                streams = SlackStreams(calls, sessions, context.clock, group, config.rate_scale)
                outbound = SlackOutbound(
                    client,
                    calls,
                    streams,
                    sessions,
                    directory,
                    identity,
                    context.clock,
                    config.rate_scale,
                    config.loading_messages,
                )

                def answer_click(click: SlackClick, refusal: str | None) -> None:
                    if refusal is None:
                        answer = outbound.show_choice(click)
                    else:
                        answer = outbound.refuse_click(click, refusal)
                    group.create_task(answer, name=f"slack-click:{click.ts}")

                def answer_rating(url: str, text: str) -> None:
                    group.create_task(outbound.answer_alone(url, text), name="slack-rating")

                lookups = SlackLookups(client, directory, groups, context.clock)
                view = SlackAgentView(
                    calls,
                    context.inbox,
                    directory.find_sender,
                    health,
                    context.clock,
                    group,
                    _list_prompts(config),
                )
                events = SlackReceiver(
                    self.name,
                    identity,
                    context.inbox,
                    directory,
                    health,
                    lookups,
                    sessions,
                    view,
                    answer_click,
                    answer_rating,
                    signing_secret,
                )
                self.counts = events.counts
                receiver: SlackSocket | SlackWebhook
                if config.mode == "socket":
                    receiver = SlackSocket(self.name, client, events.receive_envelope, context.clock, health)
                else:
                    receiver = SlackWebhook(signing_secret, events, health)
                files = SlackFiles(client, calls, outbound)
                threads = SlackThreads(calls, directory, lookups, identity)
                yield SlackSession(client, events, outbound, files, threads, receiver, directory)
        finally:
            await client.close()

    async def _sign_in(self, client: SlackClient) -> AsyncSlackResponse:
        try:
            return await client.web.auth_test()
        except SlackApiError as error:
            name = refusal_name(error)
            if name in DEAD_TOKEN:
                raise self._refuse_token(name) from None
            raise AccountLost(f"Slack answers: {name or error.response.status_code}") from None
        except CALL_ERRORS as error:
            raise AccountLost(f"cannot reach Slack ({type(error).__name__})") from None

    def _refuse_token(self, name: str) -> AccountRefused:
        return AccountRefused(
            f"Slack refuses the bot_token of account {self.name} ({name}): install the app again on "
            "Install App and take the Bot User OAuth Token (xoxb-…) from there"
        )

    def _read_scopes(self, me: AsyncSlackResponse, health: AccountHealth) -> frozenset[str]:
        """Return the granted scopes and note the missing ones. Raises AccountRefused without chat:write."""
        granted = {scope.strip() for scope in str(me.headers.get("x-oauth-scopes", "")).split(",")} - {""}
        unused = OPTIONAL_SCOPES - {REACTIONS_SCOPE} if self._config.reaction else OPTIONAL_SCOPES
        missing = sorted({*BOT_SCOPES} - unused - granted) if granted else []
        if _LEAST_SCOPES & set(missing):
            raise AccountRefused(
                f"the app of account {self.name} lacks the scope chat:write: add it on OAuth & Permissions "
                "and install the app again"
            )
        if missing:
            names = ", ".join(missing)
            log.warning("slack.scopes_missing", account=self.name, scopes=names)
            health.add_note(
                f"the app lacks the scopes {names}: add them on OAuth & Permissions and install the app again"
            )
        return frozenset(granted)

    def _require_secret(self, key: str, value: SecretStr | None) -> str:
        if value is None:
            raise AccountRefused(f"account {self.name} has no {key}")
        return value.get_secret_value()


def create(name: str, config: SlackAccount) -> SlackAdapter:
    """Create the adapter of an account; the manifest names this factory."""
    return SlackAdapter(name, config)


def _list_prompts(config: SlackAccount) -> list[dict[str, str]] | None:
    if config.suggested_prompts is None:
        return None
    return [{"title": one.title, "message": one.message} for one in config.suggested_prompts]


def _read_identity(me: AsyncSlackResponse) -> SlackIdentity:
    user, team = me.get("user_id"), me.get("team_id")
    if not isinstance(user, str) or not isinstance(team, str):
        raise AccountLost("Slack's response to auth.test does not match the Web API")
    bot, name, url, enterprise = (
        str(me.get(key) or "") for key in ("bot_id", "user", "url", "enterprise_id")
    )
    return SlackIdentity(user, bot, team, name, url, enterprise)
