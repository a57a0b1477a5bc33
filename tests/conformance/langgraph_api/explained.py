"""Accepted differences: bugs of the reference, and cases in which the runtime is stricter."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from tests.conformance.langgraph_api.shapes import Difference

MOST = 12


@dataclass(frozen=True, slots=True)
class Case:
    """Differences of the same kind: their step, path and values match these regular expressions."""

    step: str
    path: str
    values: str = ""
    """Matches both values as JSON, as in `null / "<absent>"`."""

    def covers(self, step: str, difference: Difference) -> bool:
        """Return whether this is a difference of this kind."""
        values = f"{json.dumps(difference.ours)} / {json.dumps(difference.reference)}"
        return bool(
            re.search(self.step, step)
            and re.search(self.path, difference.path)
            and re.search(self.values, values)
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """One reason for differences."""

    reason: str
    cases: tuple[Case, ...]


def find_case(step: str, difference: Difference) -> Case | None:
    """Return the case that explains a difference of a step, or None."""
    return next((case for one in EXPLAINED for case in one.cases if case.covers(step, difference)), None)


OURS_ONLY = r'/ "<absent>"$'
NOTHING = r'^(null|\{\}) / "<absent>"$'
REFERENCE_ONLY = r'^"<absent>" /'
REFUSED = r"^answer \(error for (result|events)\)$"
ACCEPTED = r"^answer \(result for error\)$"
STATUS = r"^error\.(class|status)$"
STATE_FIELDS = (
    r"(checkpoint|checkpoint_id|created_at|interrupts|metadata|next|parent_checkpoint(_id)?|tasks|values)"
)
SERVER_FIELDS = r"langgraph_(version|api_version|plan|host|api_url)|run_attempt"
REQUEST_FIELDS = r"langgraph_(auth_(user|user_id|permissions)|request_id)|user_id"

EXPLAINED = (
    Explanation(
        "The runtime announces the attempt and the end of each stream, and reports lost events.",
        (
            Case(r"", r"^events\[(end|gap)\]$", OURS_ONLY),
            Case(r"^streams\.join: (one mode|two modes)$", r"^events\[metadata\]$", OURS_ONLY),
        ),
    ),
    Explanation(
        "The reference fails with an error of its own, sends it with 200, or refuses what its SDK sends.",
        (
            Case(r"^threads\.search: (values|values of none|count by values)$", ACCEPTED, r'"status": 500'),
            Case(r"^threads\.supersteps: without a graph$", REFUSED, r'"status": 400.* / .*"detail"'),
            Case(r"^threads\.prune: keep_latest$", ACCEPTED, r'"status": 422'),
            Case(r"^threads\.prune: history after that$", r"^result\[\d+\]$", REFERENCE_ONLY),
            Case(r"^threads\.copy: copy an unknown thread$", STATUS, r"Conflict|^404 / 409$"),
            Case(r"^(states\.history|remote_graph\.state): .*before", ACCEPTED, r'"status": (422|500)'),
            Case(r"^states\.update: list of values$", ACCEPTED, r'"status": 400'),
            Case(r"^crons\.create: no schedule$", STATUS, r"InternalServer|^422 / 500$"),
            Case(r"^store\..*: \$gt of (a missing key|text)$", ACCEPTED, r'"status": (400|500)'),
            Case(
                r"^interrupts\.commands: (thread after )?resume null$",
                r"^result\.(error|status|__error__|__interrupt__)$",
                r'UnboundLocalError|^"interrupted" / "error"$|"question": "ask"',
            ),
            Case(r"^interrupts\.commands: .* an empty thread$", ACCEPTED, r"'NoneType' object"),
        ),
    ),
    Explanation(
        "The reference ignores `select` of a state, `ttl`, further stream modes, and the thread of a batch.",
        (
            Case(
                r"^states\.(read|history): select|^threads\.copy: state of the original$",
                rf"^result(\[\d+\])?\.{STATE_FIELDS}(\.count)?$",
                REFERENCE_ONLY,
            ),
            Case(r"^threads\.ttl: get", r"^result\.ttl$", OURS_ONLY),
            Case(r"^store\..*: put with a ttl$", REFUSED, r'"status": 422'),
            Case(r"^store\..*: get what has a ttl$", r"^result$", r"^null / "),
            Case(r"^streams\.join: two modes$", r"^events\[values\]$", OURS_ONLY),
            Case(r"^streams\.threads: lifecycle$", r"^events\[(updates|values)\]$", REFERENCE_ONLY),
            Case(r"^streams\.threads: state_update$", r"^events\[metadata\]$", REFERENCE_ONLY),
            Case(r"^runs\.batch: run on a thread$", r"\.(graph_id|temporary)$", r'"steps" /|^false / true$'),
        ),
    ),
    Explanation(
        "For a missing object, the reference answers 200 with the 404 in the body, or sends no events.",
        (
            Case(
                r": join |: join, reject$|^multitask\.busy: join$|^streams\.join: unknown (run|thread)$",
                REFUSED,
                r'^\{"error": \{"class": "\w+", "status": 404\}\} / .*404: Run not found',
            ),
            Case(
                r"^streams\.(join|threads): unknown mode$", REFUSED, r'"status": 422.* / \{"events": \[\]\}$'
            ),
        ),
    ),
    Explanation(
        "The runtime refuses values that the reference accepts and ignores.",
        (
            Case(
                r"^(runs\.list_and_delete|store\..*): (limit (0|10,000)|negative offset|max_depth 0)"
                r"|^runs\.refuse: (on_completion|after_seconds -1|config \{'recursion_limit': 0\})"
                r"|^runs\.hooks: private webhook$|^(threads\.ttl|store\..*): .*negative"
                r"|^crons\.create: unknown strategy$|^threads\.read: include something unknown$",
                REFUSED,
                r'"status": 422\}\} / ',
            ),
            Case(r"^crons\.update: context beside a config$", REFUSED, r'"status": 400\}\} / '),
            Case(r"^states\.read: (unknown checkpoint|checkpoint id)", REFUSED, r'"status": 404\}\} / '),
            Case(r": unknown action$", STATUS, r"^422 / 404$|Unprocessable.*NotFound"),
        ),
    ),
    Explanation(
        "Facts about the reference's installation, tenant, request and internals.",
        (
            Case(r"", rf"\.({SERVER_FIELDS})$", REFERENCE_ONLY),
            Case(r"", r"\.lc_versions\.langchain$", OURS_ONLY),
            Case(r"", rf"\.(configurable|metadata)\.({REQUEST_FIELDS})$", REFERENCE_ONLY),
            Case(r"", r"\.configurable\.__\w+$", REFERENCE_ONLY),
            Case(r"^states\.subgraphs: ", r"\.metadata\.langgraph_\w+$", REFERENCE_ONLY),
            Case(
                r"^threads\.supersteps: |^states\.update: state of the fork$|^states\.replay: history$",
                r"\.metadata\.checkpoint_id$",
                REFERENCE_ONLY,
            ),
            Case(
                r"^system\.routes: (ok|info)$",
                r"^result\.(services|server|host|flags\.(langsmith_\w+|webhooks))$",
            ),
            Case(r"^system\.routes: storage of a thread$", REFUSED, r'"status": 404'),
            Case(r"^streams\.messages: tools, events$", r"\.id$", r'^null / "<uuid>"$'),
            Case(r"^streams\.options: feedback_keys$", r"^events\[error\]$", "LangSmith"),
        ),
    ),
    Explanation(
        "The reference omits fields that the SDK's types require.",
        (
            Case(
                r"^(threads|runs|interrupts|multitask)\.", r"^result(\[\d+\])?\.(error|interrupts)$", NOTHING
            ),
            Case(r"^(threads|interrupts|multitask)\..*: .*copy", r"^result\.values$", OURS_ONLY),
            Case(r"^runs\.arguments: join the checkpoint", r"\.response_schema$", OURS_ONLY),
            Case(r"^states\.read: by checkpoint id$", r"^result\.checkpoint\.checkpoint_ns$", OURS_ONLY),
            Case(
                r"^streams\.options: ids of a stateless run$",
                r"\.thread_id$",
                r'^"<uuid>" / (null|"<absent>")$',
            ),
        ),
    ),
    Explanation(
        "The reference shows earlier data: values of the step before an interrupt, without the interrupts of"
        " the same step; the graph of the previous run; a thread before its cancellation.",
        (
            Case(
                r"^interrupts\.(two|in_a_branch|commands): |^runs\.arguments: join the checkpoint",
                r"^result(\.values)?\.log(\[\d+\])?$",
                OURS_ONLY,
            ),
            Case(
                r"^interrupts\.streamed: two",
                r"\.(__interrupt__|interrupts)\[\d+\]",
                r'^"left" / "right"$|^\{"value": \{"question": "right"\}.*' + OURS_ONLY,
            ),
            Case(
                r"^interrupts\.in_a_branch: values$|^runs\.arguments: stream a command$",
                r"^events\[values\]\.data\.__interrupt__$",
                OURS_ONLY,
            ),
            Case(r"^multitask\.", r"\.metadata\.graph_id$", r'^"steps" / "gated"$'),
            Case(r"^multitask\.cancel: thread after rollback, at once$", r"^result\.status$", r'"busy"$'),
            Case(r"^multitask\.busy: copy$", r"^result\.status$", r'^"interrupted" / "idle"$'),
            Case(
                r"^multitask\.cancel_by_status: thread after all$",
                r"^result\.(status|values)$",
                r'^"interrupted" / "idle"$|/ null$',
            ),
            Case(r"^assistants\.versions: ", r"\.context\.model$", r'^"<absent>" / "x"$'),
        ),
    ),
    Explanation(
        "For the same mistake, the reference answers 400 on some routes and 422 on others.",
        (
            Case(
                r"^threads\.search: ids that are no UUIDs$|^threads\.copy: copy an id that is no UUID$"
                r"|^streams\.options: thread id that is no UUID$"
                r"|^store\..*: (empty namespace|get without a key|unknown operator)$",
                STATUS,
                r"^422 / 400$|Unprocessable.*BadRequest",
            ),
            Case(r"^states\.update: values that are text$", STATUS, r"^400 / 422$|BadRequest.*Unprocessable"),
        ),
    ),
    Explanation(
        "LangGraph's stores differ on values of other types and on missing fields; the runtime has one rule.",
        (
            Case(
                r"^store\..*: (\$gt with text|\$ne of a missing key|bool for a number)$",
                r"^result\[\d+\]$",
                REFERENCE_ONLY,
            ),
        ),
    ),
    Explanation(
        "The runtime keeps a run's settings private to the run, so that no other run or reader gets them.",
        (
            Case(r"^runs\.settings: thread$", r"^result\.config\.configurable\.\w+$", REFERENCE_ONLY),
            Case(r"^runs\.settings: ", r"\.temperature$", r"^0\.5 / 1(\.0)?$"),
        ),
    ),
    Explanation(
        "The runtime keeps checkpoints of stateless and deleted runs, and a cancellation is not an error.",
        (
            Case(r"^remote_graph\.stream: stateless, checkpoints$", r"^result\[\d+\]$", OURS_ONLY),
            Case(
                r"^runs\.list_and_delete: state after that$",
                r"^result\.(metadata\.(number|step)|values\.log\[\d+\])$",
                r"^(3 / 2|10 / 6)$|" + OURS_ONLY,
            ),
            Case(
                r"^(multitask\.cancel|streams\.disconnect): thread after",
                r"^result\.error$",
                r'^null / \{"error": "User(Interrupt|Rollback)"',
            ),
        ),
    ),
)
