"""Differences that stay: bugs of the reference, and places where the runtime refuses more."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explains differences whose step and path match two regular expressions."""

    step: str
    path: str
    reason: str

    def covers(self, step: str, path: str) -> bool:
        """Return whether this difference is explained."""
        return bool(re.search(self.step, step) and re.search(self.path, path))


STATE_FIELD = (
    r"(checkpoint|checkpoint_id|created_at|interrupts|metadata|next|parent_checkpoint(_id)?|tasks|values)"
)
EXPLAINED = (
    Explanation(
        r"",
        r"^events\[(end|gap)\]",
        "The runtime ends a stream with `end` and reports lost events; the reference sends neither.",
    ),
    Explanation(
        r"^threads\.search: (values|values of none|count by values)$"
        r"|^threads\.(supersteps: without a graph|prune: keep_latest)$"
        r"|^(states\.history|remote_graph\.state): .*before"
        r"|^states\.update: values that are text$|^crons\.create: (no schedule|delete)$"
        r"|^store\..*: \$gt of a missing key$",
        r"^answer \((result for error|error for result)\)$|^error",
        "The reference fails with an error of its own, sends it with 200, or refuses what its SDK sends.",
    ),
    Explanation(
        r"^states\.(read|history): select|^threads\.copy: state of the original$",
        rf"^result(\[\d+\])?\.{STATE_FIELD}",
        "The reference ignores `select` of a state.",
    ),
    Explanation(
        r": join |: join, reject$|^multitask\.busy: join$|^streams\.join: unknown (run|thread)$",
        r"^answer \(error for (result|events)\)$",
        "The reference answers 200 for a run that is not there, and puts the 404 into the body.",
    ),
    Explanation(
        r"^streams\.join: unknown mode$|^streams\.threads: (unknown (thread|mode)|id that is no UUID)$",
        r"^answer \(error for events\)$",
        "The reference opens a stream without events, which does not end, for what the runtime refuses.",
    ),
    Explanation(
        r"^(runs\.list_and_delete|store\..*): (limit (0|10,000)|negative offset|max_depth 0)"
        r"|^runs\.refuse: (on_completion|after_seconds -1)|^runs\.hooks: private webhook$"
        r"|^(threads\.ttl|store\..*): .*negative|^crons\.create: (end in the past|unknown strategy)$"
        r"|^states\.(read|update): .*(unknown checkpoint|checkpoint id)|: unknown action$",
        r"^answer \(error for result\)$|^error",
        "The runtime refuses values that the reference accepts and ignores.",
    ),
    Explanation(
        r"^streams\.options: feedback_keys$",
        r"^events\[error\]",
        "The reference asks LangSmith.",
    ),
    Explanation(
        r"",
        r"\.lc_versions\.|\.(langgraph_\w+|user_id|langsmith_\w+|__[a-z]\w+__|__pregel_\w+|run_attempt)$"
        r"|^result\.(services|server|host)$|^result\.flags\.\w+$",
        "Facts about the reference's installation, tenant, request and internals.",
    ),
    Explanation(
        r"^(threads|multitask|interrupts|states|runs)\.",
        r"^result(\[\])?\.(interrupts|error|values)$",
        "A thread that has not run, and a copy, lack fields in the reference that the SDK's types require.",
    ),
    Explanation(
        r"^multitask\.cancel: (thread after rollback, at once|rollback, and wait)$",
        r"^result(\.status|\.__error__)?$",
        "The reference reads a run that it has deleted, and its thread stays busy for a minute.",
    ),
)
