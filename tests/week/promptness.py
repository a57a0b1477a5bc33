"""What must come soon in a simulated week, whatever else is going on; see `tests.week.judge`."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator

from tests.week.evidence import Evidence

AT_WORK = 3.0
"""A command overtakes a run that goes on for longer than this after it (seconds)."""
COMMAND, BEGUN, FINAL = 5.0, 2.0, 10.0
"""Seconds until a command is answered, a run begins, and the final of a run that has ended stands."""


def overtaken(of: Evidence) -> Iterator[str]:
    """A command that comes while a run is at work is answered before it, and soon."""
    finals = of.finals()
    for command, run, ended in beside_runs(of):
        waited = finals[command] - of.turns[command]["created_at"]
        late = f"command {command} waited {waited:.1f} s beside turn {run}, which had {ended:.1f} s to go"
        yield "" if waited <= COMMAND else late


def beside_runs(of: Evidence) -> Iterator[tuple[int, int, float]]:
    """Commands that came while a run of their conversation was at work: its turn, and for how long it was."""
    agent, finals = of.stage.agent, of.finals()
    spans: defaultdict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for turn, runs in of.runs.items():
        ended = max(agent.ended.get(run, 0.0) for run in runs)
        spans[of.turns[turn]["conversation_id"]].append((agent.created[runs[0]], ended, turn))
    for number, row in of.turns.items():
        if row["kind"] != "command" or _hindered(of, row, finals.get(number, 0.0)):
            continue
        for begun, ended, other in spans[row["conversation_id"]]:
            if begun <= row["created_at"] and ended - row["created_at"] > AT_WORK:
                yield number, other, ended - row["created_at"]


def kept_to_itself(of: Evidence) -> Iterator[str]:
    """While an account is limited or cut off, nobody on another one waits for longer."""
    finals = of.finals()
    for turn, others in beside_trouble(of):
        for what, waited, most in _waits(of, turn, finals[turn["id"]]):
            late = f"turn {turn['id']}: {waited:.1f} s until {what}, {others} in trouble"
            yield "" if waited <= most else late


def beside_trouble(of: Evidence) -> Iterator[tuple[sqlite3.Row, set[str]]]:
    """Turns that came while other accounts were in trouble, and theirs was not."""
    finals = of.finals()
    for number, turn in of.turns.items():
        others = of.in_trouble(turn["created_at"], turn["created_at"]) - {of.chat(turn)[0]}
        until = finals.get(number, 0.0)
        if others and not _hindered(of, turn, max(until, turn["finished_at"]) if until else 0.0):
            yield turn, others


def _waits(of: Evidence, turn: sqlite3.Row, final: float) -> Iterator[tuple[str, float, float]]:
    """What a turn waited for, for how long, and how long it may."""
    agent, runs = of.stage.agent, of.runs.get(turn["id"])
    if turn["kind"] == "command":
        yield "the answer", final - turn["created_at"], COMMAND
    elif runs:
        before = [one["finished_at"] for one in of.turns.values() if _is_before(one, turn)]
        since = max(turn["created_at"], turn["ready_at"], *before)
        yield "the run", agent.created[runs[0]] - since, BEGUN
        if runs[-1] in agent.ended and turn["state"] == "done":
            yield "the final", turn["finished_at"] - agent.ended[runs[-1]], FINAL


def _is_before(one: sqlite3.Row, turn: sqlite3.Row) -> bool:
    return bool(one["conversation_id"] == turn["conversation_id"] and one["id"] < turn["id"])


def _hindered(of: Evidence, turn: sqlite3.Row, until: float) -> bool:
    """Whether a turn had trouble of its own until then, or has no answer."""
    since, (account, chat) = turn["created_at"], of.chat(turn)
    refused = any(
        call.outcome != "done" and call.chat == chat and since <= call.at <= until
        for call in of.stage.platforms[account].calls
    )
    return not until or refused or account in of.in_trouble(since, until) or of.absent(since - 1, until)
