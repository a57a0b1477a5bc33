"""Approval rules: who may decide, how long a decision is valid, and which messages count as questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bot.domain import Sender
from bot.profiles import ADMINS, OTHERS, REQUESTER

DAY = 24 * 3600.0
HERE_DAYS = 7
MOST_DAYS = 365


Approvers = Sequence[Sequence[str]]
"""Lists of people who may decide; a person must be in each. They contain REQUESTER, ADMINS, OTHERS (an admin
other than the requester), MEMBERS or access entries.
"""
APPROVERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {REQUESTER: (REQUESTER, ADMINS), ADMINS: (ADMINS,), OTHERS: (OTHERS,)}
)
"""Lists of people who may decide, by value of `approvals.by`."""
REFUSALS = tuple(f"approval_foreign{end}" for end in ("", "_admins", "_others", "_listed"))
"""Text keys of refusals: one for each list of APPROVERS, and one for all other lists."""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Approval rules for a person. `approvers` returns who may decide on the work of people in a topic;
    `entries` are MEMBERS and the person's access entries. `here_admins`: only admins may approve a tool for a
    conversation; such an approval is valid for `here_days`.
    """

    approvers: Callable[[Sequence[Sender], str], Approvers] = lambda _people, _topic: (APPROVERS[REQUESTER],)
    entries: Collection[str] = ()
    here_admins: bool = False
    here_days: int = HERE_DAYS

    def may_decide(self, approvers: Approvers, *, is_requester: bool, is_admin: bool) -> bool:
        """Check whether the person may decide."""
        words = {REQUESTER: is_requester, ADMINS: is_admin, OTHERS: is_admin and not is_requester}
        found = {*self.entries, *(word for word, applies in words.items() if applies)}
        return all(not found.isdisjoint(one) for one in approvers)

    def may_decide_own(self, sender: Sender, topic: str, *, is_admin: bool) -> bool:
        """Check whether the person may decide about their own work, to which `approve here` applies."""
        return self.may_decide(self.approvers([sender], topic), is_requester=True, is_admin=is_admin)

    def grant_ends(self, now: float, days: int) -> float:
        """Return when an approval for a conversation expires; `days` can only shorten the default duration
        (0: the default).
        """
        return now + DAY * (min(days, self.here_days) if days else self.here_days)


def refusal_of(approvers: Approvers) -> str:
    """Return the text key for a person who may not decide."""
    known = dict(zip(APPROVERS.values(), REFUSALS, strict=False))
    return known.get(tuple(approvers[0]), REFUSALS[-1])


_NO = re.compile(
    r"(?:no|nope|don'?t|do not|stop|reject|cancel|never)\b"
    r"|不要|不行|不可以|不同意|别动|拒绝|取消",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:what|what's|why|how|which|who|where|when|explain|tell me|show me)\b"
    r"|(?:is|does|will) (?:this|that|it)\b|解释|说明",
    re.IGNORECASE,
)
_ASKS_ANYWHERE = re.compile("什么|为何|怎么|如何|哪个|哪些|哪里|是谁")
_MARKS = ("?", "？", "吗", "呢", "么")


def is_question(text: str) -> bool:
    """Return whether a message about an approval is a question, so that it neither approves nor rejects.

    A text that starts with a refusal is a rejection, whatever follows.
    """
    said = text.strip().rstrip(" .!。！")
    if not said or _NO.match(said):
        return False
    return said.endswith(_MARKS) or bool(_ASKS.match(said) or _ASKS_ANYWHERE.search(said))
