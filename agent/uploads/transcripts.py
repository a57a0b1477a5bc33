"""Transcripts: files in a thread's workspace with the messages that a summary replaced, word for word.

A line of JSON behind `MARK` begins each message. It tells who wrote it or whom it answers, so that a person
can be erased from the file as from the thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import HumanMessage

from agent.core.paths import VIRTUAL_ROOT
from agent.runtime.message_erasure import ERASED_SENDER, ErasureTarget, ErasureTimeline, ValueEraser
from agent.shared.run_identity import SENDER
from agent.shared.text_masking import MASK

FOLDER = ".transcripts"
TRANSCRIPTS = f"{VIRTUAL_ROOT}/workspace/{FOLDER}"
"""The folder as the agent sees it."""
MARK = "=== "
LARGEST = 4_000_000
"""Bytes of a file; the erasure of a person searches files of up to 5 MB."""
HUMAN = "person"
_CUT = "\n[The rest is not kept: this file is full.]\n"


@dataclass(frozen=True, slots=True)
class Author:
    """A message of a person: its id in the thread, and the person as `platform:id` ("" if unknown)."""

    message: str
    person: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A message in a transcript. `kind` is person, assistant, tool or service, and `name` the tool; `authors`
    holds the message itself if a person wrote it, else the messages of people that it answers.
    """

    kind: str
    text: str
    authors: tuple[Author, ...] = ()
    name: str = ""


def file_name(number: int) -> str:
    """Return the name of the file that a thread's summary with this number, from 1, leaves behind."""
    return f"{number:03}.txt"


def render_transcript(entries: Iterable[Entry]) -> bytes:
    """Return the content of a file of at most `LARGEST` bytes."""
    content = "".join(map(_render_entry, entries)).encode(errors="replace")
    if len(content) <= LARGEST:
        return content
    room = LARGEST - len(_CUT.encode())
    return content[:room].decode(errors="ignore").encode() + _CUT.encode()


def _render_entry(entry: Entry) -> str:
    head: dict[str, Any] = {"type": entry.kind, "name": entry.name}
    head["from" if entry.kind == HUMAN else "answers"] = [[one.message, one.person] for one in entry.authors]
    shown = json.dumps({key: value for key, value in head.items() if value}, ensure_ascii=False)
    text = "".join(f" {line}" if line.startswith(MARK) else line for line in _split_lines(entry.text))
    return f"{MARK}{shown}\n{text}\n"


def _split_lines(text: str) -> list[str]:
    return re.split(r"(?<=\n)", text)


def parse_transcript(content: str) -> Iterator[Entry | str]:
    """Yield the messages, and any text that is not part of one."""
    entry, text = None, ""
    for line in _split_lines(content):
        head = _read_head(line)
        if head is None:
            text += line
            continue
        yield from _close_entry(entry, text)
        entry, text = head, ""
    yield from _close_entry(entry, text)


def _close_entry(entry: Entry | None, text: str) -> Iterator[Entry | str]:
    if entry is not None:
        yield replace(entry, text=text.removesuffix("\n"))
    elif text:
        yield text


def _read_head(line: str) -> Entry | None:
    """Return the message that a line begins, without its text; None for any other line."""
    if not line.startswith(MARK):
        return None
    try:
        head = json.loads(line.removeprefix(MARK))
        listed = [*head.get("from", ()), *head.get("answers", ())]
        authors = tuple(Author(str(message), str(person)) for message, person in listed)
        return Entry(str(head["type"]), "", authors, str(head.get("name", "")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # Commands can write to the file.
        return None


def erase_from_transcript(content: str, target: ErasureTarget) -> str:
    """Return the content without the person's messages and the answers to them alone, and with quotations of
    them masked elsewhere.
    """
    eraser = ValueEraser(target, ErasureTimeline(target))
    parts = []
    for part in parse_transcript(content):
        if isinstance(part, str):
            parts.append(eraser.erase(part))
        else:
            parts.append(_render_entry(_erase_entry(part, target, eraser)))
    return "".join(parts)


def _erase_entry(entry: Entry, target: ErasureTarget, eraser: ValueEraser) -> Entry:
    theirs = [_is_theirs(one, target) for one in entry.authors]
    authors = tuple(
        replace(one, person=ERASED_SENDER) if is_theirs else one
        for one, is_theirs in zip(entry.authors, theirs, strict=True)
    )
    text = MASK if theirs and all(theirs) else _erase_text(entry, eraser)
    return replace(entry, text=text, authors=authors)


def _erase_text(entry: Entry, eraser: ValueEraser) -> Any:
    if entry.kind == HUMAN:
        return eraser.erase_spoken(entry.text, eraser.erase)
    return eraser.erase(entry.text)


def _is_theirs(author: Author, target: ErasureTarget) -> bool:
    extra = {SENDER: author.person} if author.person else {}
    return target.covers(HumanMessage("", id=author.message, additional_kwargs=extra))
