"""What must hold of the approvals and the firings of a simulated week; see `tests.week.judge`."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator

from tests.week.digests import BEGIN, Digest
from tests.week.evidence import Evidence, senders, turn_of
from tests.week.plan import DAY, HOUR
from tests.week.team import team

LEAVING = ("/new", "/resume", "/retry", "/stop", "stop")
"""Commands by which somebody leaves a question behind."""
LATE = 6 * HOUR
"""A firing is made up for within so many seconds."""
PROMPT = 60.0
"""Seconds after which a firing stands where nothing is in its way."""


def decided(of: Evidence) -> Iterator[str]:
    """An approval is decided once, by who asked for the work or an admin; or by nobody, after a day."""
    agent = of.stage.agent
    answers: defaultdict[str, set[int]] = defaultdict(set)
    for request in agent.requests.values():
        turn = turn_of(request)
        if request.answers and not of.turns[turn]["repeats"]:
            answers[request.answers].add(turn)
    for interrupt, run in agent.asked.items():
        asking = agent.requests[run]
        platform = str(asking.configurable["account"])
        seniors = {f"{platform}:{one.on(platform)}" for one in team() if one.senior}
        several = len(answers[interrupt]) > 1
        yield f"{interrupt} was answered by the turns {answers[interrupt]}" if several else ""
        if interrupt not in agent.approvals:
            continue
        for one in agent.resumed[interrupt]:
            who = senders(agent.requests[one])
            yield "" if who <= senders(asking) | seniors else f"{interrupt} was decided by {who}"
            lasted = agent.created[one] - agent.created[run]
            yield f"{interrupt} was open for {lasted:.0f} s only" if not who and lasted < DAY else ""


def left_open(of: Evidence) -> Iterator[str]:
    """No run begins plainly where an interrupt stands, unless somebody left it behind."""
    agent = of.stage.agent
    for run, interrupt in agent.discarded:
        asked = agent.asked[interrupt]
        turn = of.turns[turn_of(agent.requests[asked])]
        left = turn["state"] != "done" or _left(
            of, turn["conversation_id"], agent.created[asked], agent.created[run]
        )
        yield "" if left else f"{run} discarded {interrupt} of turn {turn['id']}"
    yield ""


def _left(of: Evidence, conversation: int, since: float, until: float) -> bool:
    return any(
        turn["kind"] == "command"
        and turn["conversation_id"] == conversation
        and since <= turn["created_at"] <= until
        and str(of.messages[turn["id"]][0]["text"]).startswith(LEAVING)
        for turn in of.turns.values()
        if of.messages[turn["id"]]
    )


def fired(of: Evidence) -> Iterator[str]:
    """Everything that is due happens once, at its time; what was missed is counted, and told where it is."""
    for digest in of.stage.week.digests:
        number = of.stage.crowd.saved.get(digest.key)
        if number is None:
            yield f"{digest.key} was never saved"
            continue
        firings = [row for row in of.tables["firings"] if row["schedule_id"] == number]
        yield from _instants(of, digest, number, firings)
        if digest.text:
            yield _said(of, digest, firings)


def _instants(of: Evidence, digest: Digest, number: int, firings: list[sqlite3.Row]) -> Iterator[str]:
    deeds = [row for row in of.tables["audit"] if row["subject"] == f"schedule {number}"]
    since = min(row["at"] for row in deeds)
    ended = [row["at"] for row in deeds if row["action"] == "schedule deleted"]
    until = min(ended, default=of.stage.clock.now() - PROMPT)
    due = list(digest.instants(since, until))
    if ended:
        # With a schedule its firings are deleted; what it said is still there.
        said = len(_shown(of, digest))
        yield "" if 0 < said <= len(due) else f"{digest.key}: {said} of {len(due)} were said"
        return
    known = {row["due_at"]: row for row in firings}
    strange = sorted(set(known) - set(digest.instants(since, until + DAY)))
    asked = of.stage.crowd.triggered[digest.key]
    yield f"{digest.key} fired at {strange}, asked to {asked} times" if len(strange) > asked else ""
    missed = 0
    for instant in due:
        row = known.get(instant)
        missed += row is None
        if row is not None:
            yield "" if row["missed"] == missed else f"{digest.key}: {missed} missed before {instant}"
            yield _punctual(of, digest, row)
            missed = 0
    yield f"{digest.key}: {missed} lost at the end" if missed else ""


def _punctual(of: Evidence, digest: Digest, row: sqlite3.Row) -> str:
    late = row["at"] - row["due_at"]
    if late > PROMPT and not of.absent(row["due_at"] - 1, row["at"]):
        return f"{digest.key} fired {late:.0f} s late at {row['due_at']}"
    match row["skipped"]:
        case "missed":
            return "" if late > LATE else f"{digest.key} was left out after {late:.0f} s"
        case "" if row["turn_id"]:
            turn = of.turns[row["turn_id"]]
            right = turn["state"] == "done" or _unsure(of, digest, row)
            return "" if right else f"{digest.key}: turn {turn['id']} is {turn['state']}"
        case "overlap" | "quiet":
            return ""
        case _:
            return f"{digest.key} was not done at {row['due_at']}: {row['skipped']}"


def _shown(of: Evidence, digest: Digest) -> set[str]:
    """The replies that say its text, marked ones included."""
    shown = of.stage.platforms[digest.place.platform].shown.values()
    here = [one for one in shown if one.address.chat == digest.place.chat]
    return {one.key for one in here if one.text.rpartition("\n\n")[2] == digest.text}


def _said(of: Evidence, digest: Digest, firings: list[sqlite3.Row]) -> str:
    """A fixed text stands as often as its firings say."""
    if digest.until and BEGIN + digest.until < of.stage.end:
        return ""
    wanted = sum(not row["skipped"] for row in firings)
    unsure = sum(_unsure(of, digest, row) for row in firings)
    said = len(_shown(of, digest))
    right = wanted - unsure <= said <= wanted
    return "" if right else f"{digest.key} was said {said} times for {wanted} firings, {unsure} given up"


def _unsure(of: Evidence, digest: Digest, row: sqlite3.Row) -> bool:
    """Whether a firing was given up since nobody knows whether it stands: its repeat, too, went without an
    answer.
    """
    platform = of.stage.platforms[digest.place.platform]
    parts = of.parts[row["turn_id"]]
    keys = [f"{row['turn_id']}:{part['position']}" for part in parts if part["state"] == "undelivered"]
    return any(platform.unknown[key] > 1 for key in keys)
