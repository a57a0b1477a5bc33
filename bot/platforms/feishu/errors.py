"""Errors of Feishu calls, and their meaning for the core.

Codes: open.feishu.cn, "Server-side error codes", "Frequency control", and the tables of im-v1 and cardkit-v1.
"""

from __future__ import annotations

from bot.errors import DeliveryCategory, DeliveryError, RateLimited


class FeishuError(Exception):
    """A call failed; the text contains no secrets."""


class FeishuRefused(FeishuError):
    """Feishu responded with an error: HTTP `status`, its `code` and `msg`; `reset` and `limit` are from the
    frequency headers (seconds and calls, 0 if absent).
    """

    def __init__(self, status: int, code: int, msg: str, *, reset: float = 0.0, limit: int = 0) -> None:
        super().__init__(f"{code} {msg}")
        self.status = status
        self.code = code
        self.msg = msg
        self.reset = reset
        self.limit = limit


class FeishuUnreached(FeishuError):
    """No response; `sent`: the request may have arrived."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


FREQUENCY = frozenset({99991400, 230020, 11232, 11233, 1000004, 1000005})
"""Too many calls: of the app, in a chat, in a tenant."""
_ACCOUNT_WIDE = frozenset({11232, 11233})
_NARROW_LIMIT = 10
"""Calls of the widest limit that is not the app's: 5 a second in a chat, 10 on a card."""
BAD_TOKEN = frozenset({99991661, 99991663, 99991664, 99991665, 99991668})
"""The access token is missing, wrong or has run out."""
BAD_SECRET = frozenset({10003, 10014, 10015, 10012, 20029})
"""The app id or secret is wrong, or the app is switched off."""
NO_SCOPE = 99991672
CARD_CLOSED = frozenset({200850, 300309})
"""The streaming mode of a card has ended."""
BAD_SEQUENCE = 300317
RECALLED = 230011
"""The message was taken back."""
_PERMISSION = frozenset(
    {NO_SCOPE, 99991679, 230002, 230006, 230013, 230017, 230018, 230019, 230027, 230035, 230038, 234027}
)
_GONE = frozenset({RECALLED, 231003, 230110, 232009, 234003, 234008, 200740, 200750})
IN_INTERACTION = 200810
"""Somebody clicked the card, and Feishu still waits for the answer to that (cardkit-v1 card/settings)."""
_PASSING = frozenset({230049, 11231, 5000, 90235, 2200, 99991401, IN_INTERACTION})


def delivery_error(problem: FeishuError, *, posting: bool) -> DeliveryError:
    """Convert an error of a call; with `posting`, repeating the call would duplicate a message."""
    if isinstance(problem, FeishuRefused):
        return _convert_refusal(problem, posting)
    sent = isinstance(problem, FeishuUnreached) and problem.sent
    return DeliveryError(DeliveryCategory.TRANSIENT, str(problem), unknown_outcome=posting and sent)


def _convert_refusal(problem: FeishuRefused, posting: bool) -> DeliveryError:
    detail = str(problem)
    if problem.status == 429 or problem.code in FREQUENCY:
        wide = problem.code in _ACCOUNT_WIDE or problem.limit > _NARROW_LIMIT
        return RateLimited(problem.reset or 1.0, account_wide=wide)
    if problem.code in BAD_TOKEN or problem.code in BAD_SECRET:
        return DeliveryError(DeliveryCategory.AUTH, detail)
    for codes, category in (
        (_PERMISSION, DeliveryCategory.PERMISSION),
        (_GONE, DeliveryCategory.NOT_FOUND),
        (_PASSING, DeliveryCategory.TRANSIENT),
    ):
        if problem.code in codes:
            return DeliveryError(category, detail)
    if _is_locked(problem):
        return DeliveryError(DeliveryCategory.TRANSIENT, detail)
    if problem.status >= 500:
        return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting)
    return DeliveryError(DeliveryCategory.INVALID_PAYLOAD, detail)


def _is_locked(problem: FeishuRefused) -> bool:
    """Return whether a person has just clicked the message's card (im-v1 message/patch, sub-codes)."""
    return "card action is lock" in problem.msg


def is_card_refused(problem: FeishuRefused) -> bool:
    """Return whether Feishu refused the card itself, so that another presentation may succeed."""
    if problem.status == 429 or problem.code in FREQUENCY or problem.status >= 500 or _is_locked(problem):
        return False
    return not (
        problem.code in BAD_TOKEN or problem.code in BAD_SECRET or problem.code in _PERMISSION | _PASSING
    )
