"""Messages in the agent's format: in an envelope, with service notes and uploaded files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

import orjson
import structlog

from agent.shared.envelope import (
    APP,
    MentionedName,
    MessageEnvelope,
    QuotedText,
    escape_text,
    render_envelope,
)
from agent.shared.run_identity import SCHEDULED, SENDER
from bot.commands.ask import ASK
from bot.commands.escaping import quoted
from bot.commands.registry import split_command
from bot.dispatch.run.hooks import MessageDraft, RunHooks, RunScope
from bot.domain import ChatKind, Mention, Quotation, person_of
from bot.errors import DeliveryError, RuntimeProblem, RuntimeUnreachable
from bot.runtime.interface import StoredUpload
from bot.texts import Texts
from bot.turn import ChangeNote, Stopped, StoppedAnswer, TurnMessage

log = structlog.get_logger(__name__)


class AgentMessages:
    """Builds the messages of a turn for the agent."""

    def __init__(self, scope: RunScope, hooks: Sequence[RunHooks]) -> None:
        self._uploader = scope.uploader
        self._texts = scope.texts
        self._hooks = hooks
        self._role_of = scope.role_of
        self._blocked = scope.blocked
        self._zone = scope.zone

    async def build_message(self, stored: TurnMessage, identity: str) -> dict[str, Any]:
        """Return a message with this id in the agent's format. Raises RuntimeUnreachable."""
        turn = self._uploader.turn
        message = self._blocked.hide_quoted(stored)
        if not message.sender.is_bot:
            message = replace(message, text=_strip_ask(message.text))
        uploads, lost = await self._upload_files(message, identity)
        draft = MessageDraft(message, tuple(lost))
        for hook in self._hooks:
            draft = await hook.complete_message(draft, stored, uploads)
        content = "\n\n".join(filter(None, [*draft.notes, self._render(draft.message)]))
        # The sender is needed because the agent's memory of a person must only use that person's own words.
        extra: dict[str, Any] = {SENDER: person_of(turn.platform, message.sender), **draft.details}
        if message.is_scheduled:
            extra[SCHEDULED] = True
        if uploads:
            extra["files"] = [_file_entry(one) for one in uploads.values()]
        return {"type": "human", "content": content, "id": identity, "additional_kwargs": extra}

    def _render(self, message: TurnMessage) -> str:
        """Return the author's text in an envelope. An answer in a private chat has none: only the asked
        person can have written it, and it goes to the tool or graph that asked.
        """
        turn = self._uploader.turn
        is_theirs = turn.address.chat_kind is ChatKind.PRIVATE and not turn.covers
        if turn.answers and is_theirs and not message.quotations:
            return escape_text(message.text)
        return render_envelope(
            MessageEnvelope(
                person=person_of(turn.platform, message.sender),
                text=message.text,
                name=message.sender.shown_name,
                role=APP if message.sender.is_bot else self._role_of(turn, message.sender).name.lower(),
                quotations=tuple(self._quoted_text(one) for one in message.quotations),
                time=format_local_time(message.sent_at, self._zone),
                mentions=tuple(self._list_mentions(message.mentions, message.text)),
            )
        )

    def _list_mentions(self, mentions: Iterable[Mention], words: str) -> Iterator[MentionedName]:
        """Yield the mentions whose names still occur in the text: an edit or a skill name may have removed
        some.
        """
        for one in mentions:
            if one.label in words:
                yield MentionedName(one.label, f"{self._uploader.turn.platform}:{one.id}")

    def _quoted_text(self, quotation: Quotation) -> QuotedText:
        author = quotation.author_id
        return QuotedText(
            kind=quotation.kind.value,
            text=quotation.text,
            person=f"{self._uploader.turn.platform}:{author}" if author else "",
            name=quotation.author,
            files=quotation.files,
            time=format_local_time(quotation.sent_at, self._zone),
        )

    async def _upload_files(
        self, message: TurnMessage, identity: str
    ) -> tuple[dict[int, StoredUpload], list[str]]:
        """Upload a message's files. Return them by position, and a note for each that could not be
        fetched.
        """
        files: dict[int, StoredUpload] = {}
        lost: list[str] = []
        for number, attachment in enumerate(message.attachments):
            try:
                files[number] = await self._uploader.upload(attachment, f"{identity}-{number}")
            except RuntimeUnreachable:
                raise  # fail the whole turn: the author can retry it, with its file
            except (DeliveryError, RuntimeProblem) as error:
                log.warning("file_lost", turn=self._uploader.turn.id, problem=str(error))
                name = _json_string(attachment.filename)
                lost.append(escape_text(self._texts("file_lost", name=name, reason=str(error))))
        return files, lost


def _strip_ask(text: str) -> str:
    """Return the text after `/ask`; any other text unchanged."""
    parts = split_command(text)
    return parts[1] if parts is not None and parts[0].lower() == ASK else text


def format_local_time(at: float, zone: tzinfo) -> str:
    """Format a time (s since the epoch) for the agent, such as `Tue 24 Nov 2026 05:16`; "" for 0."""
    return f"{datetime.fromtimestamp(at, zone):%a %d %b %Y %H:%M}" if at else ""


def render_change(platform: str, note: ChangeNote, texts: Texts) -> str:
    """Return the line that reports a change. It contains people's text as a JSON string, which can't imitate
    the line itself.
    """
    name = f"{_json_string(note.sender.name or note.sender.id)} ({person_of(platform, note.sender)})"
    if note.after is None:
        return escape_text(texts("note_deleted", name=name))
    before, after = _json_string(note.before), _json_string(note.after)
    return escape_text(texts("note_changed", name=name, before=before, after=after))


MAX_NAME = 60
"""Characters of the name of the person who stopped an answer."""


def stopped_message(answer: StoppedAnswer, texts: Texts) -> dict[str, Any]:
    """Return the service message that reports how much of a stopped answer was visible, and who stopped it.

    It is a message of its own: providers refuse an assistant's message after another one, and it goes with
    those of the person whom the answer was for when they are erased.
    """
    seen = _without_joined(answer.text, texts).rstrip()
    by = answer.stopper
    stopped_by = texts("stopped_by", name=quoted(by.name or by.id)) if by is not None else ""
    for mark in (texts("stopped"), texts("interrupted"), stopped_by):
        seen = seen.removesuffix(mark).rstrip()
    if answer.why is Stopped.INTERRUPTED:
        end = texts("note_interrupted")
    elif by is not None:
        end = texts("note_stopped_by", name=f"{_json_string((by.name or by.id)[:MAX_NAME])} ({by.id})")
    else:
        end = texts("note_stopped")
    quoted_lines = [f"> {line}" for line in seen.splitlines()]
    unseen = texts("note_open" if answer.is_question else "note_unseen")
    lines = [texts("note_seen"), *quoted_lines, end] if seen else [unseen, end]
    return {
        "type": "human",
        "content": escape_text("\n".join(lines)),
        "id": f"roebot-{answer.turn}-stopped",
        "additional_kwargs": {"lc_source": "stopped_answer"},
    }


def _without_joined(text: str, texts: Texts) -> str:
    """Return an answer without the lines that mark joined messages, which the thread already contains."""
    mark = texts("joined", text="").rstrip()
    kept = [line for line in text.splitlines() if not line.startswith(mark)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def _json_string(text: str) -> str:
    return orjson.dumps(text).decode()


def _file_entry(upload: StoredUpload) -> dict[str, Any]:
    return {"filename": upload.filename, "size": upload.size, "path": upload.path}
