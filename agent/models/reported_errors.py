"""Errors that a provider reports without an HTTP status, as in a stream that began with status 200.

Servers agree on `message` and little else: `code` is a word, a status or missing, and the word may stand in
`type` or `status`. Codes are read first, since a message may mention anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent.models.failure_texts import Category

_BY_STATUS: Mapping[int, Category] = {
    400: Category.INVALID_REQUEST,
    401: Category.AUTH,
    402: Category.QUOTA,
    403: Category.PERMISSION,
    404: Category.NOT_FOUND,
    408: Category.TIMEOUT,
    413: Category.CONTEXT,
    422: Category.INVALID_REQUEST,
    429: Category.RATE_LIMIT,
    504: Category.TIMEOUT,
}
OVERFLOW = re.compile(
    r"context.{0,20}(length|window|size)|prompt is too long|too many tokens|maximum number of tokens",
    re.IGNORECASE,
)
BAD_KEY = re.compile(r"API key not valid|API_KEY_INVALID")
"""Google answers a wrong key with status 400."""
_CODES: tuple[tuple[Category, str], ...] = (
    (
        Category.QUOTA,
        r"insufficient_(quota|balance|credits?|funds)|billing|payment_required|quota_exceeded|arrear",
    ),
    (Category.RATE_LIMIT, r"rate_?limit|too_many_requests|resource_?exhausted|throttl"),
    (Category.CONTEXT, r"context_length|request_too_large|string_above_max_length"),
    (Category.CONTENT_FILTER, r"content_?(filter|policy)|data_?inspection|safety"),
    (Category.AUTH, r"invalid_api_?key|authenticat|unauthori[sz]ed"),
    (Category.PERMISSION, r"permission|forbidden|access_denied"),
    (Category.NOT_FOUND, r"not_found"),
    (Category.TIMEOUT, r"time_?(d_)?out|deadline"),
    (Category.OVERLOADED, r"overload|unavailable|bad_gateway"),
)
_VAGUE_CODES: tuple[tuple[Category, str], ...] = (
    (Category.OVERLOADED, r"server_?error|internal|api_error"),
    (Category.INVALID_REQUEST, r"invalid_(request|argument|parameter)|bad_request"),
)
"""Codes that servers also use if the message says something more precise, such as a missing balance."""
_VAGUE_STATUSES = frozenset({400, 422, 500})
_MESSAGES: tuple[tuple[Category, str], ...] = (
    (
        Category.RATE_LIMIT,
        r"rate.?limit|too many requests|requests? per (second|minute)|限流|限速|请求过于频繁",
    ),
    (
        Category.QUOTA,
        r"\bquota|billing|insufficient (balance|credit|fund)|credit balance|out of credits|余额|欠费|额度",
    ),
    (Category.CONTEXT, OVERFLOW.pattern),
    (Category.CONTENT_FILTER, r"content (filter|policy|management)|flagged|敏感|违规"),
    (Category.AUTH, r"(invalid|incorrect|missing|expired).{0,20}api.?key|API key not valid|unauthorized"),
    (Category.NOT_FOUND, r"model.{0,60}(not found|does not exist)|no such model"),
    (Category.TIMEOUT, r"timed? ?out|deadline exceeded|超时"),
    (
        Category.OVERLOADED,
        r"overload|capacity|(temporarily|currently|service) unavailable|internal (server )?error|bad gateway"
        r"|server (had an )?error|try again|upstream|busy|繁忙|负载",
    ),
)


def classify_report(error: BaseException) -> Category | None:
    """Return the category of an error without a status: by its codes, then its message, then vague codes.

    Return None if the error comes from no provider, or contains nothing that is known.
    """
    report = _find_report(error)
    if report is None:
        return None
    codes = [str(report[key]) for key in ("code", "status", "type") if isinstance(report.get(key), str | int)]
    status = next((int(code) for code in codes if code.isdecimal() and 400 <= int(code) < 600), 0)
    by_status = by_http_status(status) if status else None
    if by_status is not None and status not in _VAGUE_STATUSES:
        return by_status
    words, message = " ".join(codes), f"{report.get('message', '')} {error}"
    return _match(_CODES, words) or _match(_MESSAGES, message) or by_status or _match(_VAGUE_CODES, words)


def by_http_status(status: int) -> Category:
    """Return the category of an HTTP status from 400."""
    return _BY_STATUS.get(status, Category.OVERLOADED if status >= 500 else Category.INVALID_REQUEST)


def _find_report(error: BaseException) -> Mapping[str, Any] | None:
    """Return what the provider reports; LangChain raises a ValueError with it if a whole response has it."""
    body = getattr(error, "body", None)
    if body is None and isinstance(error, ValueError) and error.args and isinstance(error.args[0], Mapping):
        body = error.args[0]
    if isinstance(body, list):
        body = body[0] if body else None
    if isinstance(body, Mapping) and "error" in body:
        body = body["error"]
    if isinstance(body, str):
        return {"message": body}
    return body if isinstance(body, Mapping) else None


def _match(patterns: tuple[tuple[Category, str], ...], text: str) -> Category | None:
    found = (category for category, pattern in patterns if re.search(pattern, text, re.IGNORECASE))
    return next(found, None)
