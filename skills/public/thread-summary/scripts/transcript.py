"""What is in a chat transcript: who wrote how much, questions, links, lines that sound like decisions.

    python3 transcript.py thread.txt [--since "2026-11-22 09:00"] [--most 40]

Needs nothing but Python. Prints Markdown.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

STAMP = r"(?:\d{4}-\d\d-\d\d[ T])?\d{1,2}:\d\d(?::\d\d)?"
MESSAGE = re.compile(rf"^(?:\[?(?P<at>{STAMP})\]?\s+)?(?P<who>[^\s:\[][^:\n]{{0,40}}?):\s+(?P<text>\S.*)$")
LINK = re.compile(r"https?://[^\s<>)\]]+")
DECISION = re.compile(
    r"\b(?:decided|agreed|let'?s (?:go|do|use|take|keep|ship)|we(?:'ll| will) (?:go|use|do|ship|take|keep)"
    r"|final(?:ly)?:|approved|ship it)\b|决定|同意|就这么",
    re.IGNORECASE,
)


@dataclass
class Message:
    """One message; `at` as it was written, None without a time."""

    number: int
    who: str
    text: str
    at: str | None = None


def parse(lines: list[str]) -> list[Message]:
    """The messages; lines without a sender belong to the one before."""
    found: list[Message] = []
    for line in lines:
        match = MESSAGE.match(line.rstrip())
        if match and not match["who"].lower().endswith(("http", "https")):
            found.append(Message(len(found) + 1, match["who"].strip(), match["text"], match["at"]))
        elif found and line.strip():
            found[-1].text += "\n" + line.strip()
    return found


def since(messages: list[Message], start: datetime) -> list[Message]:
    """Those from the time on; ones without a date count with the last date that was seen."""
    kept, seen = [], None
    for message in messages:
        at = _time(message.at)
        seen = at or seen
        if seen is None or seen >= start:
            kept.append(message)
    return kept


def _time(text: str | None) -> datetime | None:
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"):
        try:
            return datetime.strptime((text or "").replace("T", " "), form)
        except ValueError:
            continue
    return None


def report(messages: list[Message], most: int) -> str:
    """The overview as Markdown."""
    if not messages:
        return "No message was found. Expected lines such as `[2026-11-22 10:03] Ann: text`."
    people = Counter(message.who for message in messages)
    first, last = messages[0].at or "?", messages[-1].at or "?"
    parts = [f"{len(messages)} messages by {len(people)} people, {first} to {last}.", "", "## Who"]
    parts += [f"- {who}: {count}" for who, count in people.most_common()]
    questions = [message for message in messages if re.search(r"[?？]\s*$", message.text, re.MULTILINE)]
    decisions = [message for message in messages if DECISION.search(message.text)]
    parts += _section("Questions", questions, most) + _section("Maybe decisions", decisions, most)
    links = dict.fromkeys(link.rstrip(".,;") for message in messages for link in LINK.findall(message.text))
    parts += ["", f"## Links ({len(links)})", *(f"- {link}" for link in list(links)[:most])]
    return "\n".join(parts)


def _section(title: str, messages: list[Message], most: int) -> list[str]:
    lines = [
        f"- #{one.number} {one.at or ''} {one.who}: {' '.join(one.text.split())[:200]}" for one in messages
    ]
    return ["", f"## {title} ({len(messages)})", *lines[:most]]


def main(arguments: list[str] | None = None) -> int:
    """Read, print; 1 where nothing was found."""
    parser = argparse.ArgumentParser(description="What is in a chat transcript.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--since", type=datetime.fromisoformat)
    parser.add_argument("--most", type=int, default=40)
    given = parser.parse_args(arguments)
    messages = parse(given.file.read_text(encoding="utf-8-sig", errors="replace").splitlines())
    if given.since:
        messages = since(messages, given.since)
    print(report(messages, given.most))
    return int(not messages)


if __name__ == "__main__":
    sys.exit(main())
