"""Build what the agent reads of a turn: messages with stable ids, senders' names in groups, uploaded files.

Messages that arrive during a run are offered to it (docs/decisions/steer-through-the-run-inbox.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import structlog

from agent.shared.aio import wait_first
from agent.shared.envelope import QuotedText, render_quotation
from agent.shared.schemas import SkillInfo
from bot.access.policy import LOCAL_PLATFORMS
from bot.clock import Clock
from bot.commands.escaping import quoted
from bot.commands.extensions import find_skill, split_command
from bot.dispatch.pacing import FETCH_PATIENCE, AccountChannel, Backoff
from bot.domain import (
    Attachment,
    ChangeNote,
    ChatKind,
    HistoryMessage,
    Quotation,
    Sender,
    Turn,
    TurnMessage,
    person_of,
    thread_message_id,
    turn_author,
)
from bot.errors import DeliveryCategory, DeliveryError, RuntimeProblem, RuntimeUnreachable
from bot.faults import Step, reach
from bot.platforms.base import FetchesFiles, ReadsThreads
from bot.runtime.interface import AgentRuntime, RunRequest, SteerMessage, StoredUpload
from bot.store import Database
from bot.store.quotations import with_quotations
from bot.store.steering import accepts_steering, load_steerable
from bot.texts import Texts

log = structlog.get_logger(__name__)


MAX_HISTORY_MESSAGES = 100
"""Maximum number of messages read from a thread."""
# Seconds; the earlier messages are optional, so an answer does not wait longer for them.
READ_SECONDS = 5.0


TRANSIENT = frozenset({DeliveryCategory.TRANSIENT, DeliveryCategory.RATE_LIMIT, DeliveryCategory.UNKNOWN})
# Seconds between attempts while the runtime is unavailable.
RETRY_SECONDS = 1.0
LONGEST_SHOWN = 60


async def load_thread_history(
    turn: Turn, channel: AccountChannel, is_blocked: Callable[[Turn, Sender], bool]
) -> Sequence[HistoryMessage]:
    """Return the earlier messages of others in the turn's thread as far as the platform reports them, without
    those of blocked people.
    """
    adapter, first = channel.adapter, turn.messages[0].message_id if turn.messages else ""
    if not isinstance(adapter, ReadsThreads) or not turn.address.topic or not first:
        return ()
    try:
        async with asyncio.timeout(READ_SECONDS):
            found = await adapter.earlier(turn.address, first, MAX_HISTORY_MESSAGES)
    except (DeliveryError, TimeoutError) as problem:
        log.info("thread_not_read", turn=turn.id, problem=str(problem) or "no answer in time")
        return ()
    return [one for one in found if (one.text or one.quotations) and not is_blocked(turn, one.sender)]


@dataclass(frozen=True, slots=True)
class AttachmentUploader:
    """Upload a turn's attachments to its agent thread."""

    turn: Turn
    channel: AccountChannel
    runtime: AgentRuntime
    clock: Clock

    async def upload(self, attachment: Attachment, key: str) -> StoredUpload:
        """Fetch a file and upload it, once for this key. Waits if the runtime or the platform is temporarily
        unavailable.

        Raises RuntimeUnreachable if the runtime stays unavailable, another RuntimeProblem or a DeliveryError
        if the file can't be fetched or stored.
        """
        adapter = self.channel.adapter
        if not isinstance(adapter, FetchesFiles):
            raise RuntimeProblem("files from this platform can't be read")
        reaching, fetching = Backoff(self.clock), Backoff(self.clock, FETCH_PATIENCE)
        while True:
            content = adapter.fetch(attachment)
            try:
                return await self.runtime.upload_file(self.turn.thread_id, attachment.filename, content, key)
            except RuntimeUnreachable as problem:
                await reaching.pause(problem)
            except DeliveryError as problem:
                if problem.category not in TRANSIENT:
                    raise
                await fetching.pause(problem)


def message_ids(turn: Turn) -> list[str]:
    """Return the ids of a turn's messages in the thread. They are stable, so a repeated run replaces the
    messages instead of adding duplicates.
    """
    return [message_id(turn, message.id) for message in turn.messages]


def message_id(turn: Turn, number: int) -> str:
    """Return the id in the thread of a message that this turn answers."""
    return thread_message_id(turn.id, number)


def message_number(turn: Turn, identity: str) -> int:
    """Return the number of the message with this id in the thread, 0 if the turn does not answer it."""
    number = identity.rpartition("-")[2]
    is_ours = number.isdecimal() and identity == thread_message_id(turn.id, int(number))
    return int(number) if is_ours else 0


def _home_account(turn: Turn) -> str:
    """Return the account on which a turn's author is known: for a person who signed in by a link, the account
    of the link, so that the agent has a single memory of each person.
    """
    people = [*(message.sender for message in turn.messages), *turn.askers]
    known = people[-1].account if people and turn.platform in LOCAL_PLATFORMS else ""
    return known or turn.address.account


async def build_run_request(
    uploader: AttachmentUploader,
    texts: Texts,
    roles: Sequence[str],
    *,
    repeated: bool,
    history: str = "",
    steerable: bool = False,
) -> RunRequest:
    """Build the run that answers a turn. `history` is the text of earlier messages; messages may join a
    `steerable` run.

    Raises RuntimeUnreachable.
    """
    turn = uploader.turn
    skills = _Skills(uploader, texts)
    messages = [
        await _human_message(uploader, message, identity, texts, skills)
        for message, identity in zip(turn.messages, message_ids(turn), strict=True)
        if not message.deleted
    ]
    told = [*([history] if history else []), *(_change_line(note, texts) for note in turn.notes)]
    if told and messages:
        messages[0]["content"] = "\n\n".join([*told, messages[0]["content"]])
    configurable = _run_context(turn, turn.agent or uploader.channel.agent, texts.locale, roles)
    if steerable:
        configurable["steerable"] = True
    return RunRequest(
        thread_id=turn.thread_id,
        key=f"{turn.id}:{turn.attempt}",
        messages=messages,
        answers=turn.answers,
        configurable=configurable,
        checkpoint=turn.checkpoint,
        repeated=repeated,
        assistant=uploader.channel.assistant,
    )


async def steer_body(uploader: AttachmentUploader, message: TurnMessage, texts: Texts) -> dict[str, Any]:
    """Return a message that may join a run in the agent's format. Raises RuntimeUnreachable."""
    identity = message_id(uploader.turn, message.id)
    return await _human_message(uploader, message, identity, texts, _Skills(uploader, texts))


def _run_context(turn: Turn, agent: str, locale: str, roles: Sequence[str]) -> dict[str, Any]:
    context: dict[str, Any] = {
        "user_id": turn_author(turn),
        "account": _home_account(turn),
        "platform": turn.platform,
        "chat": turn.address.chat,
        "chat_kind": turn.address.chat_kind.value,
        "turn_id": str(turn.id),
        "roles": list(roles),
        "locale": locale,
    }
    if turn.model:
        context["model_name"] = turn.model
    if turn.approved:
        context["approved"] = list(turn.approved)
    if turn.plan:
        context["is_plan_mode"] = True
    if agent:
        context["agent_name"] = agent
    return context


class _Skills:
    """Look up the skills that messages request; the list is loaded at most once."""

    def __init__(self, uploader: AttachmentUploader, texts: Texts) -> None:
        self._handing, self._texts = uploader, texts
        self._offered: Sequence[SkillInfo] | None = None

    async def resolve_request(self, text: str) -> tuple[str, str]:
        """Return the note about a requested skill ("" for none) and the rest of the text."""
        parts = split_command(text)
        if parts is None:
            return "", text
        name, rest = parts
        found = find_skill(name, await self._load_skills())
        if found is None or not found.enabled:
            return "", text
        return self._texts("note_skill", name=found.name, path=found.path), rest

    async def _load_skills(self) -> Sequence[SkillInfo]:
        tries = Backoff(self._handing.clock)
        while self._offered is None:
            try:
                self._offered = (await self._handing.runtime.list_skills()).skills
            except RuntimeUnreachable as problem:
                await tries.pause(problem)
            except RuntimeProblem as problem:
                log.warning("skills_unknown", problem=str(problem))
                self._offered = ()
        return self._offered


async def _human_message(
    uploader: AttachmentUploader, message: TurnMessage, identity: str, texts: Texts, skills: _Skills
) -> dict[str, Any]:
    turn = uploader.turn
    note, words = await skills.resolve_request(message.text)
    lines = [words] if words else []
    files = []
    for number, attachment in enumerate(message.attachments):
        try:
            files.append(_file_entry(await uploader.upload(attachment, f"{identity}-{number}")))
        except RuntimeUnreachable:
            raise  # fail the whole turn: the author can retry it, with its file
        except (DeliveryError, RuntimeProblem) as error:
            log.warning("file_lost", turn=turn.id, problem=str(error))
            lines.append(texts("file_lost", name=attachment.filename, reason=str(error)))
    lines += [render_quotation(_quoted_text(turn.platform, one)) for one in message.quotations]
    text = "\n\n".join(lines)
    if turn.address.chat_kind is ChatKind.GROUP:
        text = f"{message.sender.name or message.sender.id}: {text}"
    text = "\n\n".join(filter(None, [note, text]))
    # The sender is needed because the agent's memory of a person must only use that person's own words.
    told: dict[str, Any] = {"sender": person_of(turn.platform, message.sender)}
    if files:
        told["files"] = files
    return {"type": "human", "content": text, "id": identity, "additional_kwargs": told}


def _quoted_text(platform: str, quotation: Quotation) -> QuotedText:
    return QuotedText(
        kind=quotation.kind.value,
        text=quotation.text,
        person=f"{platform}:{quotation.author_id}" if quotation.author_id else "",
        name=quotation.author,
        files=quotation.files,
    )


def _change_line(note: ChangeNote, texts: Texts) -> str:
    """Return the line that reports a change; people's text is a JSON string in it, so that it can't pass for
    the line's own.
    """
    name = _json_string(note.sender.name or note.sender.id)
    if note.after is None:
        return texts("note_deleted", name=name)
    return texts("note_changed", name=name, before=_json_string(note.before), after=_json_string(note.after))


def _json_string(text: str) -> str:
    return orjson.dumps(text).decode()


def _file_entry(upload: StoredUpload) -> dict[str, Any]:
    return {"filename": upload.filename, "size": upload.size, "path": upload.path}


class Steering:
    """The inbox of a turn's run: `on` if the run has one, `offered` if it ever held a message."""

    def __init__(self, uploader: AttachmentUploader, db: Database, texts: Texts, *, on: bool) -> None:
        self.on = on and accepts_steering(uploader.turn)
        self.offered = False
        self._uploader = uploader
        self._db = db
        self._texts = texts
        self._known: dict[str, TurnMessage] = {}
        self._waiting: dict[str, TurnMessage] = {}
        self._inbox: dict[str, TurnMessage] = {}
        self._news = asyncio.Event()
        self._news.set()

    def notify(self) -> None:
        """Signal that the waiting messages have changed."""
        self._news.set()

    def reset(self) -> None:
        """Fill the inbox again: the runtime may have lost it."""
        self._inbox.clear()
        self.notify()

    async def run(self) -> None:
        """Keep the inbox equal to the waiting messages until cancelled."""
        pause = 0.0
        while self.on:
            await self._wait_for_news(pause)
            try:
                pause = await self._sync_inbox()
            except RuntimeUnreachable:
                pause = RETRY_SECONDS
            except RuntimeProblem as problem:
                # The run has no inbox, so the next turn answers the waiting messages.
                log.info("inbox_refused", turn=self._uploader.turn.id, problem=str(problem))
                return

    async def load_waiting(self) -> float:
        """Load the waiting messages. Return the seconds until more are due (0.0: none are)."""
        behind = await self._db.run(load_steerable, self._uploader.turn, self._uploader.clock.now())
        self._waiting = {message_id(self._uploader.turn, one.id): one for one in behind.messages}
        self._known |= self._waiting
        return behind.more

    async def empty_inbox(self) -> None:
        """Remove every message from the inbox after the run. Raises RuntimeProblem."""
        self.on = False
        for identity in list(self._inbox):
            await self._remove_message(identity)

    def joined_line(self, identity: str) -> str:
        """Return the line that marks a joined message, "" for an unknown one."""
        message = self._known.get(identity)
        text = with_quotations(message.text, message.quotations) if message is not None else ""
        return self._texts("joined", text=quoted(text, LONGEST_SHOWN)) if text.strip() else ""

    def message_number(self, identity: str) -> int:
        """Return the number of the message with this thread id, 0 if it is not part of this turn."""
        return message_number(self._uploader.turn, identity)

    async def _wait_for_news(self, pause: float) -> None:
        if pause:
            await wait_first(self._news, self._uploader.clock, pause)
        else:
            await self._news.wait()
        self._news.clear()

    async def _sync_inbox(self) -> float:
        """Bring the inbox up to date. Return the seconds until more messages are due."""
        more = await self.load_waiting()
        for identity in [one for one in self._inbox if one not in self._waiting]:
            await self._remove_message(identity)
        for identity, message in self._waiting.items():
            if self._inbox.get(identity) != message:
                await self._put_message(identity, message)
        return more

    async def _put_message(self, identity: str, message: TurnMessage) -> None:
        handing = self._uploader
        body = await steer_body(handing, message, self._texts)
        self.offered = True
        await handing.runtime.steer(handing.turn.thread_id, SteerMessage(handing.turn.id, message.id, body))
        self._inbox[identity] = message
        reach(Step.OFFERED)

    async def _remove_message(self, identity: str) -> None:
        await self._uploader.runtime.unsteer(self._uploader.turn.thread_id, identity)
        self._inbox.pop(identity, None)
