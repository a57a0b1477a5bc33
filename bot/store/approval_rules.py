"""Approval rules: who may decide, how long a decision is valid, and which messages count as questions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

DAY = 24 * 3600.0
HERE_DAYS = 7
MOST_DAYS = 365


class ApprovalsBy(StrEnum):
    """Who may decide on an approval: the requester or an admin, admins only, or an admin other than the
    requester.
    """

    REQUESTER = "requester"
    ADMINS = "admins"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Approval rules of an account. `here_admins`: only admins may approve a tool for a conversation; such an
    approval is valid for `here_days`.
    """

    by: ApprovalsBy = ApprovalsBy.REQUESTER
    here_admins: bool = False
    here_days: int = HERE_DAYS

    def may_decide(self, *, is_requester: bool, is_admin: bool) -> bool:
        """Check whether a person may decide."""
        if self.by is ApprovalsBy.ADMINS:
            return is_admin
        if self.by is ApprovalsBy.OTHERS:
            return is_admin and not is_requester
        return is_requester or is_admin

    @property
    def refusal(self) -> str:
        """Return the text key for a person who may not decide."""
        return "approval_foreign" if self.by is ApprovalsBy.REQUESTER else f"approval_foreign_{self.by.value}"

    def grant_ends(self, now: float, days: int) -> float:
        """Return when an approval for a conversation expires; `days` can only shorten the default duration
        (0: the default).
        """
        return now + DAY * (min(days, self.here_days) if days else self.here_days)


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
