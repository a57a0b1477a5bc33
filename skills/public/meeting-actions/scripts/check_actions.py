"""Compares a table of actions with the notes that it was made from.

    python3 check_actions.py actions.md --notes notes.md [--meeting 2026-11-24] [--csv actions.csv]

Needs nothing but Python. Exit code 1 where something is wrong.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from dataclasses import dataclass
from datetime import date
from difflib import SequenceMatcher
from pathlib import Path

COLUMNS = ("what", "owner", "due", "quote")
NOBODY, NO_DATE = "?", "-"
ALIKE = 0.8


@dataclass(frozen=True)
class Action:
    """A row of the table; `row` counts from 1."""

    row: int
    what: str
    owner: str
    due: str
    quote: str


def read_table(text: str) -> list[Action]:
    """The rows of the first table that has a column `what`. Raises ValueError without one."""
    header: list[str] | None = None
    found: list[Action] = []
    for line in text.splitlines():
        if not line.strip().startswith("|"):
            if found:
                break
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if header is None:
            header = [cell.lower() for cell in cells]
            if "what" not in header:
                raise ValueError(f"the table has no column `what`; expected {', '.join(COLUMNS)}")
        elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells if cell):
            row = dict(zip(header, cells, strict=False))
            found.append(Action(len(found) + 1, *(row.get(name, "") for name in COLUMNS)))
    if header is None:
        raise ValueError("there is no table; expected lines such as `| what | owner | due | quote |`")
    return found


def problems(actions: list[Action], notes: str, meeting: date | None) -> list[str]:
    """What is wrong, in the order of the rows."""
    plain = _plain(notes)
    found: list[str] = []
    for action in actions:
        found += [f"row {action.row}: {why}" for why in _of_row(action, plain, meeting)]
    for at, one in enumerate(actions):
        for other in actions[:at]:
            if SequenceMatcher(None, _plain(one.what), _plain(other.what)).ratio() > ALIKE:
                found.append(f"row {one.row}: says the same as row {other.row}")
    return found


def _of_row(action: Action, notes: str, meeting: date | None) -> list[str]:
    found = []
    if len(action.what.split()) < 2:
        found.append("`what` names no deed; begin with a verb and say what it is about")
    if not action.owner:
        found.append(f"no owner; write {NOBODY} if nobody took it")
    elif action.owner != NOBODY and not _has_word(notes, action.owner):
        found.append(f"the owner {action.owner} is not in the notes")
    if re.search(r"[,/&]|\band\b", action.owner):
        found.append("several owners; make an action for each, or name the one who answers for it")
    found += _of_date(action.due, meeting)
    if not action.quote:
        found.append("no quote; give the words that it rests on")
    elif _plain(action.quote) not in notes:
        found.append(f"the quote is not in the notes: {action.quote[:60]}")
    return found


def _of_date(due: str, meeting: date | None) -> list[str]:
    if due == NO_DATE:
        return []
    try:
        day = date.fromisoformat(due)
    except ValueError:
        return [f"{due or 'nothing'} is no date; write YYYY-MM-DD, or {NO_DATE} if none was said"]
    if meeting is not None and day < meeting:
        return [f"{due} lies before the meeting"]
    return []


def _has_word(notes: str, owner: str) -> bool:
    return all(re.search(rf"(?<!\w){re.escape(_plain(word))}(?!\w)", notes) for word in owner.split())


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`\"“”„'’]", "", text).casefold().split())


def main(arguments: list[str] | None = None) -> int:
    """Check, print, maybe write the CSV."""
    parser = argparse.ArgumentParser(description="Compare a table of actions with the notes.")
    parser.add_argument("table", type=Path)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--meeting", type=date.fromisoformat)
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args(arguments)
    try:
        actions = read_table(given.table.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        print(f"{given.table.name}: {error}")
        return 1
    found = problems(actions, given.notes.read_text(encoding="utf-8-sig", errors="replace"), given.meeting)
    print("\n".join(found) or f"{len(actions)} actions, nothing to mend.")
    if given.csv:
        with given.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS[:3])
            writer.writerows((one.what, one.owner, "" if one.due == NO_DATE else one.due) for one in actions)
        print(f"wrote {given.csv}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
