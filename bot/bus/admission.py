"""Admission of messages, before anything is stored. Pure: the same message always gets the same verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog

from bot.access import Permission, Role
from bot.access.one_time_codes import GOOD_FOR, create_code
from bot.account_view import AccountView
from bot.bus.quotation_limits import count_characters, cut_change, cut_quotations
from bot.commands.registry import Registry
from bot.domain import (
    CONTEXT_KINDS,
    ChatKind,
    ConversationKey,
    InboundChange,
    InboundEvent,
    InboundMessage,
    Origin,
    QuotationKind,
    Sender,
    person_of,
)
from bot.profiles import OFF
from bot.store.admission_types import AddressedEdit, Admission, InboxItem, Notice, RecordOnly, Verdict
from bot.store.chat_record import ChatRecord
from bot.store.message_edits import edited_event_id
from bot.store.people import Pairing
from bot.store.usage_limits import UNLIMITED, UsageLimits
from bot.texts import Texts
from bot.turn import Busy

log = structlog.get_logger(__name__)

DAY = 24 * 3600.0
# Seconds without a further part after which an album or a group of forwarded messages, which arrives as
# several events, is considered complete.
ALBUM_HOLD = 0.7
NOTICES = frozenset({QuotationKind.NOTICE, QuotationKind.PREVIEW})
"""Kinds of content that the platform itself adds."""


def is_click(event: InboundEvent) -> bool:
    """Return whether an event is a button click."""
    return isinstance(event, InboundMessage) and event.clicked


def is_refused_click(event: InboundEvent, found: InboxItem | None) -> bool:
    """Return whether an event is a click by a person who may not answer."""
    told = isinstance(found, Admission) and found.verdict is Verdict.NOTICE
    return is_click(event) and (found is None or told)


class AdmissionPolicy:
    """Admission policy of one account."""

    def __init__(
        self,
        account: AccountView,
        commands: Registry,
        new_id: Callable[[], str],
        new_code: Callable[[], str] = create_code,
    ) -> None:
        self._account = account
        self._commands = commands
        self._new_id = new_id
        self._new_code = new_code

    def admit_event(self, event: InboundEvent, now: float) -> InboxItem | None:
        """Return the item to store for an event received at `now`, or None if it is not for the bot."""
        admitted: InboxItem | None
        if isinstance(event, InboundChange):
            admitted = self._admit_change(event, now)
        else:
            admitted = self.admit_message(event)
        if admitted is None and self._should_record(event.origin) and not is_click(event):
            return RecordOnly(event)
        return admitted

    def texts_in(self, chat: str, sender: Sender) -> Texts:
        """Return the texts for a person in their private chat."""
        account = self._account
        return account.texts_for(Origin(account.name, account.platform, chat, ChatKind.PRIVATE, "", sender))

    def texts_for(self, origin: Origin) -> Texts:
        """Return the texts for a sender at this origin."""
        return self._account.texts_for(origin)

    async def note_locale(self, admission: Admission) -> None:
        """Store the language of a sender with access or a pairing code, for texts that answer no message."""
        origin, languages = admission.message.origin, self._account.languages
        if languages is not None and (admission.pairing is not None or self.is_user(origin)):
            person = person_of(origin.platform, origin.sender)
            await languages.note_locale(person, origin.sender.locale, self._account.texts.locale)

    def is_user(self, origin: Origin) -> bool:
        """Return whether the sender is a person with access."""
        return not origin.sender.is_bot and self._account.policy.role_of(origin) >= Role.MEMBER

    def find_topic(self, origin: Origin) -> ConversationKey | None:
        """Return the conversation of a user's topic, or None if the topic has no conversation of its own or
        the sender lacks access.
        """
        key = self._account.isolation_of(origin).conversation_key(origin)
        return key if origin.topic and key.topic == origin.topic and self.is_user(origin) else None

    @property
    def record(self) -> ChatRecord:
        """The record of the account's chats."""
        return self._account.record

    def is_recorded(self, chat: str) -> bool:
        """Return whether a chat is recorded."""
        return self._account.is_recorded(chat)

    def is_read(self, chat: str) -> bool:
        """Return whether messages in a chat that don't address the bot are processed."""
        return self._account.is_read(chat)

    def is_for_agent(self, message: InboundMessage) -> bool:
        """Return whether a message will be admitted for the agent, neither as a command nor with a notice."""
        admitted = self.admit_message(message)
        return admitted is not None and admitted.verdict is Verdict.CHAT

    def is_private_command(self, message: InboundMessage) -> bool:
        """Return whether a message is a group command whose answer only its author may see."""
        if message.origin.chat_kind is not ChatKind.GROUP or message.origin.sender.is_bot:
            return False
        role = self._account.policy.role_of(message.origin)
        return self._commands.answers_alone(message.text, role, message.mentions)

    def _should_record(self, origin: Origin) -> bool:
        """Return whether messages from this origin are recorded even if they do not address the bot."""
        group = origin.chat_kind is ChatKind.GROUP
        return (
            group
            and self.is_recorded(origin.chat)
            and self._account.policy.role_of(origin) is not Role.BLOCKED
        )

    def admit_message(self, message: InboundMessage) -> Admission | None:
        """Return the admission of a message, or None if it is not for the bot."""
        if _is_notice(message):
            return None
        if message.origin.sender.is_bot:
            return self._admit_app(message)
        if self._is_addressed(message):
            return self._admit_person(message)
        origin = message.origin
        if origin.chat_kind is not ChatKind.GROUP or message.clicked or self._refusal(message) is not None:
            return None
        needs_no_mention = self._account.profile_for(origin).get("mention") == OFF
        return self._admit_person(message) if needs_no_mention else None

    def _is_addressed(self, message: InboundMessage) -> bool:
        return message.addressed or self._commands.is_call(message.text)

    def _admit_person(self, message: InboundMessage) -> Admission | None:
        role = self._account.policy.role_of(message.origin)
        if role < Role.MEMBER:
            return self._admit_stranger(message, role)
        shortened = cut_quotations(message, self._account.limits.characters)
        in_group = message.origin.chat_kind is ChatKind.GROUP
        mentioned = message.mentioned or (in_group and self._is_addressed(message))
        parsed = self._commands.parse(message.text, mentioned=mentioned, mentions=message.mentions)
        topic_command = self._commands.find_topic_command(message.text)
        is_written = not message.clicked or message.pressed is not None
        if parsed is not None and not message.attachments and is_written:
            command = self._commands.get(parsed.name)
            new_thread = command is not None and command.starts_thread
            resume = parsed.number if command is not None and command.resumes_thread else 0
            return self._make_admission(
                shortened, Verdict.COMMAND, new_thread=new_thread, resume=resume, topic_command=topic_command
            )
        refusal = self._refusal(message)
        if refusal:
            return self._make_admission(message, Verdict.NOTICE, notice=refusal)
        budgets = self._account.limits_for(message.origin, role)
        is_admin = self._account.may(message.origin, Permission.DECIDE)
        return self._make_admission(
            shortened, Verdict.CHAT, is_admin=is_admin, budgets=budgets, topic_command=topic_command
        )

    def _admit_app(self, message: InboundMessage) -> Admission | None:
        """Admit an app's message that may start a turn. Apps can't use commands and receive no notices."""
        rule = self._account.policy.rule_of_app(message.origin)
        role = self._account.policy.role_of(message.origin)
        if rule is None or role < Role.MEMBER or message.clicked:
            if message.addressed:
                _log_ignored(message)
            return None
        if (rule.mention and not message.addressed) or self._refusal(message) is not None:
            return None
        shortened = cut_quotations(message, self._account.limits.characters)
        budgets = self._account.limits_for(message.origin, role)
        return self._make_admission(shortened, Verdict.CHAT, budgets=budgets)

    def _admit_change(self, happened: InboundChange, now: float) -> InboundChange | AddressedEdit | None:
        """Admit a change. People without access and apps can delete messages, but not write by editing
        them.
        """
        if happened.text is None:
            return happened
        if happened.origin.sender.is_bot:
            return None
        if happened.origin.sender.id and self._account.policy.role_of(happened.origin) < Role.MEMBER:
            return None
        change = cut_change(happened, self._account.limits.characters)
        admission = self._admit_edited(change, now)
        return change if admission is None else AddressedEdit(change, admission)

    def _admit_edited(self, change: InboundChange, now: float) -> Admission | None:
        """Admit an edited message that addresses the bot. The store detects earlier admissions; it can't for
        messages beyond the retention period, which are ignored.
        """
        message = change.message
        if message is None or message.clicked or not message.origin.sender.id:
            return None
        kept = self._account.retention_days * DAY
        if message.origin.sender.is_bot or (kept and now - message.sent_at > kept):
            return None
        return self.admit_message(replace(message, event_id=edited_event_id(message.origin)))

    def _admit_stranger(self, message: InboundMessage, role: Role) -> Admission | None:
        """Notify a person without access how to get it, in private chats only: by a pairing code, or once a
        day by the required configuration lines.
        """
        sender = message.origin.sender
        if role is Role.BLOCKED or message.origin.chat_kind is not ChatKind.PRIVATE:
            return None
        if sender.account:
            # A web console user signed in by a link gets this notice in the chat they came from.
            return None
        if self._account.policy.offers_pairing:
            pairing = Pairing(self._new_code(), GOOD_FOR)
            notice = Notice("pair_code", {"code": pairing.code, "minutes": GOOD_FOR // 60})
            return self._make_admission(message, Verdict.NOTICE, notice=notice, pairing=pairing)
        line = self._account.policy.config_lines(message.origin)
        return self._make_admission(
            message, Verdict.NOTICE, notice=Notice("stranger", {"line": line}), notice_kind="stranger"
        )

    def _refusal(self, message: InboundMessage) -> Notice | None:
        """Return why a message can't be answered, or None if it can."""
        limits = self._account.limits
        if message.unsupported:
            return Notice("unsupported", {"kind": self.texts_for(message.origin).kind(message.unsupported)})
        size = count_characters(message)
        if size > limits.characters:
            return Notice("too_long", {"size": size, "limit": limits.characters})
        for attachment in message.attachments:
            if attachment.size > limits.file_bytes:
                told = {"size": _megabytes(attachment.size), "limit": _megabytes(limits.file_bytes)}
                return Notice("file_too_big", {"name": attachment.filename, **told})
        has_content = message.text.strip() or message.attachments or message.quotations
        return None if has_content else Notice("empty")

    def _make_admission(
        self,
        message: InboundMessage,
        verdict: Verdict,
        *,
        notice: Notice | None = None,
        notice_kind: str = "",
        pairing: Pairing | None = None,
        new_thread: bool = False,
        resume: int = 0,
        is_admin: bool = False,
        budgets: UsageLimits = UNLIMITED,
        topic_command: tuple[str, str] = ("", ""),
    ) -> Admission:
        account, origin = self._account, message.origin
        profile = account.profile_for(origin)
        return Admission(
            message=message,
            verdict=verdict,
            policy=account.isolation_of(message.origin),
            thread_id=self._new_id(),
            texts=self.texts_for(message.origin),
            notice=notice,
            busy=Busy(profile.get("busy") or Busy.QUEUE),
            is_admin=is_admin,
            approvals=account.approvals_for(origin),
            notice_kind=notice_kind,
            pairing=pairing,
            model=profile.get("model"),
            new_thread=new_thread,
            resume=resume,
            hold_seconds=ALBUM_HOLD if message.group_key else 0.0,
            recorded=self.is_recorded(message.origin.chat),
            budgets=budgets,
            app_budget=account.app_budget,
            topic_command=topic_command,
        )


def _log_ignored(message: InboundMessage) -> None:
    """Log the id of an app that addressed the bot, which an admin needs to allow it."""
    origin = message.origin
    app = f"{origin.platform}:{origin.sender.id}"
    log.info("app_ignored", account=origin.account, chat=origin.chat, app=app, name=origin.sender.name)


def _is_notice(message: InboundMessage) -> bool:
    """Return whether a message contains only text by the platform itself."""
    kinds = {one.kind for one in message.quotations}
    said = message.text.strip() or message.attachments or message.clicked
    return not said and bool(kinds & NOTICES) and kinds <= NOTICES | CONTEXT_KINDS


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
