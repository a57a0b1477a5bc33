"""What a simulated week has left behind: what platforms and agent saw, and the rows that link them."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from agent.shared.envelope import without_envelopes
from bot.runtime.interface import RunRequest
from tests.week.plan import week
from tests.week.stage import Stage

MESSAGE = re.compile(r"roebot-(\d+)-(\d+)")
"""The id of a message in a thread: its turn, and the row of what was received."""
TABLES = ("turns", "inbound", "parts", "conversations", "schedules", "firings", "audit", "counters")
OPEN = ("accepted", "running", "waiting", "delivering")


class Evidence:
    """The rows of one week's home beside its stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.tables: dict[str, list[sqlite3.Row]] = {}
        with closing(sqlite3.connect(stage.home / "bot.db")) as database:
            database.row_factory = sqlite3.Row
            for table in TABLES:
                self.tables[table] = database.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
        self.turns = {int(row["id"]): row for row in self.tables["turns"]}
        self.inbound = {int(row["id"]): row for row in self.tables["inbound"]}
        self.received = {(row["account"], row["event_id"]): row for row in self.tables["inbound"]}
        self.parts: defaultdict[int, list[sqlite3.Row]] = defaultdict(list)
        for row in self.tables["parts"]:
            self.parts[row["turn_id"]].append(row)
        self.runs: defaultdict[int, list[str]] = defaultdict(list)
        """The runs of each turn, in the order in which they were created."""
        for run, request in stage.agent.requests.items():
            self.runs[turn_of(request)].append(run)
        self.messages: defaultdict[int, list[sqlite3.Row]] = defaultdict(list)
        for row in self.tables["inbound"]:
            self.messages[row["turn_id"]].append(row)

    def chat(self, turn: sqlite3.Row) -> tuple[str, str]:
        """The account and chat that a turn is answered in."""
        address = orjson.loads(turn["address"])
        return str(address[0]), str(address[1])

    def open_turns(self) -> list[sqlite3.Row]:
        """Turns that are not closed."""
        return [row for row in self.turns.values() if row["state"] in OPEN]

    def absent(self, since: float, until: float) -> bool:
        """Whether the bot or the agent was away in between."""
        away = (*self.stage.absences, *self.stage.outages)
        return any(begun <= until and since <= ended for begun, ended in away)

    def in_trouble(self, since: float, until: float) -> set[str]:
        """The accounts that were limited or cut off alone in between."""
        return {name for name, begun, ended in self.stage.in_trouble if begun <= until and since <= ended}

    def finals(self) -> dict[int, float]:
        """When the last call was made that a turn's reply took."""
        found: dict[int, float] = {}
        for platform in self.stage.platforms.values():
            for call in platform.calls:
                if call.turn and call.outcome == "done":
                    found[call.turn] = max(found.get(call.turn, 0.0), call.at)
        return found


async def played(home: Path, seed: int, *, days: int, messages: int) -> Evidence:
    """What a week of that seed leaves behind."""
    stage = Stage(home, week(seed, days=days, messages=messages))
    await stage.run()
    return Evidence(stage)


def turn_of(request: RunRequest) -> int:
    """The turn that a run answers."""
    return int(request.key.partition(":")[0])


def contents(request: RunRequest) -> str:
    """All that a run was told."""
    return "\n".join(without_envelopes(message["content"]) for message in request.messages)


def words_of_people(request: RunRequest) -> str:
    """What a run was told of people's messages, without what it is told of its own answers."""
    messages = [one for one in request.messages if "lc_source" not in one["additional_kwargs"]]
    return "\n".join(without_envelopes(message["content"]) for message in messages)


def senders(request: RunRequest) -> set[str]:
    """Whose messages a run was given, as `platform:id`; notes of the service are nobody's."""
    extras = [message["additional_kwargs"] for message in request.messages]
    return {str(extra["sender"]) for extra in extras if "lc_source" not in extra}


def rows_of(request: RunRequest) -> list[int]:
    """The rows of the messages that a run was given."""
    found = (MESSAGE.fullmatch(str(message["id"])) for message in request.messages)
    return [int(match[2]) for match in found if match is not None]


def words(text: Any) -> str:
    """A text without its white space."""
    return "".join(str(text).split())
