"""Transcripts: files in a thread's workspace with the verbatim messages that a summary replaced.

A line of JSON behind `MARK` begins each message and tells who wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from agent.core.paths import VIRTUAL_ROOT

FOLDER = ".transcripts"
TRANSCRIPTS = f"{VIRTUAL_ROOT}/workspace/{FOLDER}"
"""The folder as the agent sees it."""
MARK = "=== "
LARGEST = 4_000_000
"""Bytes of a file."""
HUMAN = "person"
_CUT = "\n[The rest is not kept: this file is full.]\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """A message in a transcript. `kind` is person, assistant, tool or service, `person` its author as
    `platform:id` ("" if unknown), and `name` the tool.
    """

    kind: str
    text: str
    person: str = ""
    name: str = ""


def file_name(number: int) -> str:
    """Return the file name for the transcript of a thread's summary with this number (from 1)."""
    return f"{number:03}.txt"


def render_transcript(entries: Iterable[Entry]) -> bytes:
    """Return the content of a file of at most `LARGEST` bytes."""
    content = "".join(map(_render_entry, entries)).encode(errors="replace")
    if len(content) <= LARGEST:
        return content
    room = LARGEST - len(_CUT.encode())
    return content[:room].decode(errors="ignore").encode() + _CUT.encode()


def _render_entry(entry: Entry) -> str:
    head = {"type": entry.kind, "name": entry.name, "from": entry.person}
    shown = json.dumps({key: value for key, value in head.items() if value}, ensure_ascii=False)
    text = "".join(f" {line}" if line.startswith(MARK) else line for line in re.split(r"(?<=\n)", entry.text))
    return f"{MARK}{shown}\n{text}\n"
