"""What must hold of a simulated week, whatever went wrong in it. A check yields a line for everything that it
looked at: "" where that is right.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from bot.dispatch.reply.diff import REPEATED_MARK
from bot.features.schedules.run_store import attempt_of
from bot.features.schedules.scheduled_runs import RETRY_AFTER
from bot.turn import Stopped
from roebot_testing.adapter import Shown
from tests.week.evidence import OPEN, Evidence, contents, rows_of, senders, words, words_of_people
from tests.week.plan import Deed
from tests.week.platforms import Platform
from tests.week.team import team

KEY = re.compile(r"#m(\d{5})")
ENDED = frozenset({"done", "failed", "cancelled", "expired"})
GROUPED = frozenset({Deed.SAYS, Deed.COMMANDS, Deed.PLANS})


def received(of: Evidence) -> Iterator[str]:
    """Whatever somebody of the team told the bot is part of one turn; what was not meant for it, of none."""
    for (platform, event), act in of.stage.crowd.meant.items():
        row = of.received.get((platform, event))
        if act.person.trusted and act.deed in GROUPED:
            yield "" if row is not None and row["turn_id"] in of.turns else f"lost: {act}"
        elif act.deed is Deed.CHATS:
            yield "" if row is None else f"taken for a message to the bot: {act}"
    for pressed in of.stage.crowd.pressed:
        name = pressed.question.platform
        refused = pressed.event_id in of.stage.platforms[name].refused
        known = refused or (name, pressed.event_id) in of.received
        if pressed.in_words and not pressed.person.trusted:
            yield f"taken from a stranger: {pressed}" if known else ""
            continue
        yield "" if known else f"lost: {pressed}"
    for platform in of.stage.platforms.values():
        yield from (f"never taken: {event}" for event in platform.waiting)


def in_one_turn(of: Evidence) -> Iterator[str]:
    """A message is given to the agent by its turn alone, whole and once; only a retry repeats it."""
    given: defaultdict[int, set[int]] = defaultdict(set)
    for turn, runs in of.runs.items():
        for run in runs:
            for row in rows_of(of.stage.agent.requests[run]):
                given[row].add(of.turns[turn]["repeats"] or turn)
    for number, row in of.inbound.items():
        turn = of.turns.get(row["turn_id"])
        if turn is None or turn["kind"] != "chat":
            yield f"given to a run, but of no chat turn: {tuple(row)}" if given[number] else ""
        elif turn["state"] == "done" and not row["deleted"]:
            ours = given[number] == {row["turn_id"]}
            yield "" if ours else f"turn {row['turn_id']}, given by {given[number]}: {row['text'][:60]}"
        else:
            yield "" if given[number] <= {row["turn_id"]} else f"given by {given[number]}: {tuple(row)}"


def closed(of: Evidence) -> Iterator[str]:
    """Nothing is open at the end: no turn, no approval, no firing."""
    for turn in of.turns.values():
        yield "" if turn["state"] in ENDED else f"turn {turn['id']} is {turn['state']}"
    for row in of.tables["conversations"]:
        waits = row["question"] and row["decisions"]
        yield f"an approval is open in conversation {row['id']}" if waits else ""


def answered(of: Evidence) -> Iterator[str]:
    """Every turn has one final: each of its parts stands where it belongs, whole."""
    for number, turn in of.turns.items():
        parts = of.parts[number]
        silent = turn["error"] == "deleted" or turn["stopped"] == Stopped.LEFT or _is_tried_again(of, turn)
        if turn["state"] in OPEN or (silent and not parts):
            continue
        yield "" if parts else f"turn {number} ({turn['state']}) has no reply"
        yield from (_standing(of, turn, part) for part in parts)


def _is_tried_again(of: Evidence, turn: sqlite3.Row) -> bool:
    """Whether a turn is a schedule's try that came to nothing, but for the last one."""
    tries = [attempt_of(row["event_id"]) for row in of.messages[turn["id"]]]
    came_to_nothing = turn["state"] in {"failed", "expired"} and not turn["repeats"]
    return came_to_nothing and bool(tries) and all(0 < one <= len(RETRY_AFTER) for one in tries)


def _standing(of: Evidence, turn: sqlite3.Row, part: sqlite3.Row) -> str:
    account, chat = of.chat(turn)
    platform = of.stage.platforms[account]
    key = f"{turn['id']}:{part['position']}"
    if part["state"] == "undelivered":
        return "" if platform.unknown[key] > 1 else f"{key} was given up: {part['category']}"
    shown = platform.shown.get(part["platform_id"])
    if shown is None:
        gone = part["platform_id"] in platform.removed and _asked(of, turn)
        return "" if gone else f"{key} does not stand: {tuple(part)}"
    if part["state"] != "final" or shown.address.chat != chat or shown.key != key:
        return f"{key} is {part['state']}: {shown}"
    if part["kind"] == "file":
        return "" if shown.filename == part["filename"] else f"{key} is another file: {shown}"
    text = shown.text.removeprefix(f"{REPEATED_MARK}\n\n")
    right = text == part["content"] or (_asked(of, turn) and text.startswith(part["content"]))
    return "" if right else f"{key} says {text[:200]!r}, not {part['content'][:200]!r}"


def _asked(of: Evidence, turn: sqlite3.Row) -> bool:
    return any(run in of.stage.agent.asked.values() for run in of.runs[turn["id"]])


def complete(of: Evidence) -> Iterator[str]:
    """Where a run came through the reply is what it said, to the last word; where it failed the turn has."""
    for number, runs in of.runs.items():
        said, state = of.stage.agent.answers.get(runs[-1]), of.turns[number]["state"]
        if runs[-1] in of.stage.agent.failed:
            yield "" if state in {"failed", "cancelled"} else f"turn {number} is {state}, its run failed"
        elif said is not None and state == "done":
            texts = [part["content"] for part in of.parts[number] if part["kind"] == "text"]
            lost = any(part["state"] == "undelivered" for part in of.parts[number])
            whole = words("".join(texts)).startswith(words(said))
            yield "" if whole or lost else f"turn {number} says {texts}, the run said {said[:300]!r}"


def nothing_twice(of: Evidence) -> Iterator[str]:
    """A message stands once; a post of unknown outcome once more, marked, where a platform can't be asked."""
    for platform in of.stage.platforms.values():
        standing: defaultdict[str, list[Shown]] = defaultdict(list)
        for shown in platform.shown.values():
            standing[shown.key].append(shown)
        for key, found in standing.items():
            yield _once(of, platform, key, found)


def _once(of: Evidence, platform: Platform, key: str, found: list[Shown]) -> str:
    turn, _, position = key.partition(":")
    known = {part["platform_id"] for part in of.parts[int(turn)] if str(part["position"]) == position}
    unowned = [shown for shown in found if shown.id not in known]
    if not unowned:
        return ""
    if platform.repeats_safely or len(found) > 1 + platform.unknown[key]:
        return f"{key} stands {len(found)} times, {platform.unknown[key]} outcomes unknown: {found}"
    unmarked = [one for one in found[1:] if not one.filename and not one.text.startswith(REPEATED_MARK)]
    return f"{key} stands again without a mark: {unmarked}" if unmarked else ""


def in_order(of: Evidence) -> Iterator[str]:
    """In a conversation one turn ends before the next one begins, and messages are given in their order."""
    agent = of.stage.agent
    lanes: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    for turn, runs in of.runs.items():
        lanes[of.turns[turn]["conversation_id"]].append((agent.created[runs[0]], turn))
    for conversation, lane in lanes.items():
        ended, newest = 0.0, 0
        for created, turn in sorted(lane):
            row = of.turns[turn]
            late = f"turn {turn} began in conversation {conversation} before the one before it had ended"
            yield late if created < ended else ""
            ended = row["finished_at"] or ended
            rows = rows_of(agent.requests[of.runs[turn][0]])
            if row["answers"] or row["repeats"] or not rows:
                continue
            back = f"turn {turn} of conversation {conversation} goes back: {rows}"
            yield "" if min(rows) > newest else back
            newest = max(rows)


def strangers(of: Evidence) -> Iterator[str]:
    """Who is not of the team starts no run; strangers hear in private how to be let in, others nothing."""
    for (platform, event), act in of.stage.crowd.meant.items():
        if act.person.trusted:
            continue
        row = of.received.get((platform, event))
        silent = act.place.group or act.person.standing == "blocked"
        if row is None:
            yield ""
        elif silent:
            yield f"answered: {act}"
        else:
            turn = of.turns[row["turn_id"]]
            yield "" if turn["kind"] == "notice" else f"turn {turn['id']} is a {turn['kind']}: {act}"
    trusted = {f"{name}:{one.on(name)}" for name in of.stage.platforms for one in team()}
    for run, request in of.stage.agent.requests.items():
        who = senders(request)
        yield "" if who <= trusted else f"{run} was given messages of {who - trusted}"


def kept_apart(of: Evidence) -> Iterator[str]:
    """A run is told nothing that was written in another chat."""
    acts = {act.key: act for act in of.stage.crowd.meant.values()}
    for run, request in of.stage.agent.requests.items():
        here = (request.configurable["account"], request.configurable["chat"])
        told = {act for found in KEY.finditer(contents(request)) if (act := acts.get(found[0]))}
        foreign = [act for act in told if (act.place.platform, act.place.chat) != here]
        yield f"{run} in {here} was told {foreign}" if foreign else ""


def forgotten(of: Evidence) -> Iterator[str]:
    """What somebody has taken back is given to no run that is asked for later, but for the words of the agent
    in an answer that was stopped.
    """
    gone: dict[str, float] = {}
    for (platform, event), act in of.stage.crowd.meant.items():
        at = of.stage.platforms[platform].accepted.get(event)
        if act.deed is Deed.DELETES and at is not None:
            gone[f"#m{act.of:05d}"] = at
    for run, request in of.stage.agent.requests.items():
        # A run that was asked for may be created later, while the agent is away.
        since = of.stage.agent.created[run] - 150.0
        told = {found[0] for found in KEY.finditer(words_of_people(request))}
        late = [key for key in told if gone.get(key, since) < since]
        yield f"{run} was told {late}" if late else ""


def limits(of: Evidence) -> Iterator[str]:
    """No call is too many, but right after a start, when what was called before is not known."""
    for platform in of.stage.platforms.values():
        over: Counter[bool] = Counter()
        for call in platform.calls:
            if call.outcome == "earned":
                started = any(0 <= call.at - born < 61 for _, born in of.stage.absences)
                over[started] += 1
        yield f"{platform.name}: {over[False]} calls too many" if over[False] else ""


def quiet_log(of: Evidence) -> Iterator[str]:
    """The service has found nothing wrong with itself."""
    yield from (str(entry) for entry in of.stage.complaints)
    yield from (f"the scripted agent broke: {error!r}" for error in of.stage.agent.broken)
    yield ""


Check = Callable[[Evidence], Iterator[str]]
