"""The report of a simulated week: what was judged, and figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bot.dispatch.reply.diff import REPEATED_MARK
from tests.week import judge, promptness, verdicts
from tests.week.evidence import Evidence
from tests.week.plan import HOUR
from tests.week.stage import DRAIN

CHECKS: Mapping[str, judge.Check] = {
    "what the team says is taken, once": judge.received,
    "a message is in one turn": judge.in_one_turn,
    "no turn is left open": judge.closed,
    "a turn has one final, and it stands": judge.answered,
    "the final is all that the run said": judge.complete,
    "nothing stands twice but what is marked": judge.nothing_twice,
    "order within a conversation": judge.in_order,
    "nothing to strangers": judge.strangers,
    "nothing from another chat": judge.kept_apart,
    "what was deleted is told no more": judge.forgotten,
    "approvals: once, by who may": verdicts.decided,
    "no run over an open question": verdicts.left_open,
    "firings: none twice, none lost": verdicts.fired,
    "a command does not wait for a run": promptness.overtaken,
    "one account's trouble stays its own": promptness.kept_to_itself,
    "within the platforms' limits": judge.limits,
    "no complaint in the log": judge.quiet_log,
}
SHOWN = 12
"""Broken ones of a check that are shown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check looked at, and what was wrong."""

    name: str
    looked: int
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The verdicts of one week, and its figures."""

    verdicts: tuple[Verdict, ...]
    figures: Mapping[str, str] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether all of it held."""
        return not any(one.broken for one in self.verdicts)

    def __str__(self) -> str:
        width = max(len(name) for name in (*self.figures, *(one.name for one in self.verdicts)))
        lines = [f"{name:{width}}  {value}" for name, value in self.figures.items()]
        lines += ["", f"{'judged':{width}}  looked at   wrong"]
        for one in self.verdicts:
            lines.append(f"{one.name:{width}}  {one.looked:9}   {len(one.broken) or 'none'}")
        for one in self.verdicts:
            lines += [f"- {one.name}: {line}" for line in one.broken[:SHOWN]]
        return "\n".join(lines)


def judged(of: Evidence) -> Report:
    """The report of a week that was played."""
    found = []
    for name, check in CHECKS.items():
        lines = list(check(of))
        found.append(Verdict(name, len(lines), tuple(line for line in lines if line)))
    return Report(tuple(found), dict(figures(of)))


def figures(of: Evidence) -> Iterator[tuple[str, str]]:
    """What happened, in numbers."""
    stage, agent = of.stage, of.stage.agent
    people = {act.person.number for act in stage.crowd.meant.values() if act.person.trusted}
    calls = [call for platform in stage.platforms.values() for call in platform.calls]
    outcomes, kinds = Counter(call.outcome for call in calls), Counter(t["kind"] for t in of.turns.values())
    states = Counter(row["state"] for row in of.turns.values())
    yield "seed, virtual days", f"{stage.week.seed}, {stage.week.days}, and {DRAIN / HOUR:.0f} hours after"
    yield "people, platforms, chats", f"{len(people)}, {len(stage.platforms)}, {len({c.chat for c in calls})}"
    yield "messages", f"{stage.week.messages:,}, and {len(stage.crowd.pressed):,} clicks and decisions"
    yield "turns", f"{len(of.turns):,}: {_listed(kinds)}; {_listed(states)}"
    yield "runs", f"{len(agent.requests):,}, asked for again: {agent.repeated}, agent away: {agent.deaths}"
    yield "calls of the bot", f"{len(calls):,}: {_listed(Counter(c.operation.value for c in calls))}"
    yield "restarts", f"{len(stage.absences)}; {_listed(stage.troubles)}"
    struck = {name: outcomes[name] for name in ("lost", "refused", "gone")}
    yield "faults of calls", _listed(Counter(struck))
    yield "429", f"provoked: {outcomes['limited']}, after starts: {outcomes['earned']}"
    yield "events delivered again", str(sum(platform.again for platform in stage.platforms.values()))
    marked = sum(
        one.text.startswith(REPEATED_MARK) for p in stage.platforms.values() for one in p.shown.values()
    )
    yield "possibly repeated", str(marked)
    yield "approvals", _approvals(of)
    yield "firings", _firings(of)
    yield from _latencies(of)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _approvals(of: Evidence) -> str:
    agent, told = of.stage.agent, sum(len(platform.told) for platform in of.stage.platforms.values())
    ended = [runs[0] for name, runs in agent.resumed.items() if name in agent.approvals and runs]
    resumed = [agent.requests[run] for run in ended]
    expired = sum(not request.messages for request in resumed)
    decided = len(resumed) - expired
    return f"{len(agent.approvals)}: decided {decided}, expired {expired}; clicks refused {told}"


def _firings(of: Evidence) -> str:
    rows = of.tables["firings"]
    skipped = Counter(row["skipped"] for row in rows if row["skipped"])
    made_up, again = sum(row["missed"] for row in rows), sum(row["attempt"] > 1 for row in rows)
    left_out = f"left out: {_listed(skipped)}" if skipped else "none left out"
    return f"{len(rows)}, {left_out}; {made_up} missed before others, {again} tried again"


def _latencies(of: Evidence) -> Iterator[tuple[str, str]]:
    """Virtual seconds of turns during which nobody was away, and their account not in trouble."""
    agent, finals = of.stage.agent, of.finals()
    begun, shown, commands = [], [], []
    busy: dict[int, float] = {}
    for number, turn in sorted(of.turns.items()):
        final = finals.get(number, 0.0)
        waited = busy.get(turn["conversation_id"], 0.0) > turn["created_at"]
        if turn["kind"] == "chat":
            busy[turn["conversation_id"]] = max(busy.get(turn["conversation_id"], 0.0), turn["finished_at"])
        since, until = turn["created_at"] - 1, turn["finished_at"]
        if not final or of.absent(since, until) or of.chat(turn)[0] in of.in_trouble(since, until):
            continue
        if turn["kind"] == "command":
            commands.append(final - turn["created_at"])
        runs = of.runs.get(number)
        if turn["kind"] == "chat" and runs and not waited and not turn["answers"]:
            begun.append(agent.created[runs[0]] - turn["created_at"])
            if runs[-1] in agent.ended and turn["state"] == "done":
                shown.append(turn["finished_at"] - agent.ended[runs[-1]])
    yield "accepted, until the run began", _spread(begun)
    yield "run ended, until the final stood", _spread(shown)
    yield "commands, until answered", _spread(commands)


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "none"
    ordered = sorted(values)
    shares = {name: ordered[math.ceil(share * len(ordered)) - 1] for name, share in _SHARES.items()}
    found = ", ".join(f"{name} {value:.2f} s" for name, value in shares.items())
    return f"{found} ({len(ordered):,} turns)"


_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}
