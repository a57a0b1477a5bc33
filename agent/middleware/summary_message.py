"""The message that replaces the older part of a conversation: its text, position and additions.

The to-do list and the skills in use are added by code, so that no model can forget them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.config.harness import CONTAINER_PATH
from agent.core.model_request import is_from_person
from agent.middleware.summary_cut import SUMMARY, WRITTEN_AFTER, is_summary
from agent.shared.envelope import escape_text
from agent.shared.run_identity import NOTE_SOURCE, REQUESTED_SKILL
from agent.uploads.transcripts import TRANSCRIPTS, file_name

SKILLS = "skills"
"""Key of a summary: paths of the SKILL.md files that were read before it."""
COUNT = "transcripts"
"""Key of a summary: number of the thread's transcripts at that time."""
GAP = "transcript_gap"
"""Key of a summary: whether the thread's transcripts lack messages, since one could not be written."""
MOST_SKILLS = 8
LONGEST_REQUEST = 2_000
"""Characters of the request that the summarizer of its work sees."""
EARLIER = "the earlier messages"
AND_STEPS = "the earlier messages, and the first steps of the work on the message before this"
_OLD_HEADER = "Here is a summary of the conversation to date:\n\n"
_BODY = re.compile(r"<summary\b[^>]*>\s*(.*?)\s*</summary>", re.DOTALL)
_TODOS = re.compile(r"\s*<todo_list>\s.*</todo_list>\s*$", re.DOTALL)
_OWN_TAGS = ("summary", "todo_list", "skills_in_use", "transcript")
_OWN_TAG = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(_OWN_TAGS)})\b)", re.IGNORECASE)
_SKILL = re.compile(r"/(?:[\w@+-][\w.@+-]*/)+SKILL\.md\b")
"""Path of a skill's instructions, without `..`."""
_READERS = frozenset({"read_file", "bash"})


@dataclass(frozen=True, slots=True)
class StoredTranscripts:
    """A thread's transcripts: their number, and whether the newest removed messages (`lacks_newest`) or any
    others (`has_gap`) are missing from them.
    """

    count: int = 0
    has_gap: bool = False
    lacks_newest: bool = False


@dataclass(frozen=True, slots=True)
class SummaryPlace:
    """The id of the removed message whose position the summary takes; `is_within_turn` if a kept message of a
    person precedes it.
    """

    id: str
    is_within_turn: bool = False


def choose_place(messages: Iterable[BaseMessage], gone: Collection[str]) -> SummaryPlace:
    """Return the summary's position: the first removed message after the last kept message of a person that
    is not newer than all of them.
    """
    place, has_request, is_new_request = SummaryPlace(""), False, False
    for message in messages:
        if message.id and message.id in gone:
            if not place.id or is_new_request:
                place, is_new_request = SummaryPlace(message.id, has_request), False
        elif is_from_person(message):
            has_request = is_new_request = True
    return place if place.id else SummaryPlace(str(uuid4()))


def find_request(messages: Sequence[BaseMessage], going: Iterable[BaseMessage]) -> str:
    """Return the beginning of the request before the summary, whose work is partly removed; "" between
    turns.
    """
    place = choose_place(messages, {one.id for one in going if one.id})
    request = ""
    for message in messages if place.is_within_turn else ():
        if message.id == place.id:
            break
        request = message.text if is_from_person(message) else request
    return request if len(request) <= LONGEST_REQUEST else f"{request[:LONGEST_REQUEST]} […]"


def make_summary(
    text: str,
    state: Mapping[str, Any],
    going: Sequence[BaseMessage],
    transcripts: StoredTranscripts | None = None,
    *,
    skills_root: str = CONTAINER_PATH,
) -> HumanMessage:
    """Return the message that replaces `going`; no part of it can be mistaken for a person's message.

    `transcripts` are those of the thread, None if the agent can't read any. `skills_root` is the folder of
    the installed skills: no other file named SKILL.md is one that the agent follows.
    """
    messages: Sequence[BaseMessage] = state["messages"]
    gone = {one.id for one in going if one.id}
    place = choose_place(messages, gone)
    answers = [one.id for one in messages if isinstance(one, AIMessage) and one.id]
    skills = list_skills(going, skills_root)
    replaced = AND_STEPS if place.is_within_turn else EARLIER
    parts = [
        f'<summary by="service" of="{replaced}">\n{_escape(text)}\n</summary>',
        _render_transcripts(transcripts or StoredTranscripts()),
        _render_skills(skills),
        _render_todos(state),
    ]
    extra: dict[str, Any] = {NOTE_SOURCE: SUMMARY, **({WRITTEN_AFTER: answers[-1]} if answers else {})}
    extra |= {SKILLS: skills} if skills else {}
    known = transcripts or find_transcripts(messages)
    extra |= {COUNT: known.count} if known.count else {}
    extra |= {GAP: True} if known.has_gap or known.lacks_newest else {}
    return HumanMessage("\n\n".join(filter(None, parts)), additional_kwargs=extra, id=place.id)


def summary_text(message: BaseMessage) -> str:
    """Return the text of a summary, including one stored by an earlier version."""
    found = _BODY.search(message.text)
    return found[1] if found else _TODOS.sub("", message.text.removeprefix(_OLD_HEADER))


def list_skills(messages: Iterable[BaseMessage], root: str = CONTAINER_PATH) -> list[str]:
    """Return the paths of skills below `root` that were read in or before these messages, the newest last."""
    found: dict[str, None] = {}
    for message in messages:
        for path in (one for one in _paths_of(message) if one.startswith(f"{root.rstrip('/')}/")):
            found.pop(path, None)
            found[path] = None
    return list(found)[-MOST_SKILLS:]


def _paths_of(message: BaseMessage) -> Iterable[str]:
    if is_summary(message):
        return [str(path) for path in message.additional_kwargs.get(SKILLS) or ()]
    if isinstance(path := message.additional_kwargs.get(REQUESTED_SKILL), str):
        return _SKILL.findall(path)
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    texts = (value for call in calls if call["name"] in _READERS for value in call["args"].values())
    return [path for text in texts if isinstance(text, str) for path in _SKILL.findall(text)]


def find_transcripts(messages: Iterable[BaseMessage]) -> StoredTranscripts:
    """Return the transcripts mentioned in the thread's summaries."""
    known = [one.additional_kwargs for one in messages if is_summary(one)]
    count = max((int(one.get(COUNT) or 0) for one in known), default=0)
    return StoredTranscripts(count, any(one.get(GAP) is True for one in known))


def _render_transcripts(stored: StoredTranscripts) -> str:
    count = stored.count
    if not count:
        return ""
    before = f" (before it: {file_name(1)} to {file_name(count - 1)})" if count > 1 else ""
    told = f"The removed messages, word for word: {TRANSCRIPTS}/{file_name(count)}{before}."
    if stored.lacks_newest:
        told += " Those that were removed last could not be stored."
    elif stored.has_gap:
        told += " Some of them could not be stored."
    return f"<transcript>\n{told} Search there for what the summary leaves out.\n</transcript>"


def _escape(text: str) -> str:
    """Escape the tags of summaries and messages in a text."""
    return escape_text(_OWN_TAG.sub("&lt;", text), *_OWN_TAGS)


def _render_skills(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    told = "Skills that you followed. Read one again before you continue its work:"
    return "\n".join(["<skills_in_use>", told, *(f"- {path}" for path in paths), "</skills_in_use>"])


def _render_todos(state: Mapping[str, Any]) -> str:
    """Render the to-do list while work remains, since its latest version may be among the removed
    messages.
    """
    todos = state.get("todos") or ()
    if all(item["status"] == "completed" for item in todos):
        return ""
    lines = [f"- [{item['status']}] {_escape(item['content'])}" for item in todos]
    return "\n".join(["<todo_list>", *lines, "</todo_list>"])
