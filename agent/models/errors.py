"""Classification of provider errors: one clear line without secrets, whether to retry, and how long to wait.

A person in a chat sees nothing while a call waits for Retry-After, so beyond `MAX_WAIT` the call fails, and
the error says how long the provider asks to wait.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from langchain_core import exceptions as lc
from pydantic import ValidationError

from agent.errors import ModelCallFailed, ModelError, redact_line
from agent.models.failure_texts import Category, render_failure, render_wait
from agent.models.reported_errors import BAD_KEY, OVERFLOW, by_http_status, classify_report
from agent.shared.schemas import Failing

MAX_WAIT = 60.0
"""Seconds."""
_NO_STREAM = "No generations found in stream"
"""LangChain's error for a response without events, such as a page of a proxy."""

_RETRYABLE = frozenset(
    {
        Category.RATE_LIMIT,
        Category.OVERLOADED,
        Category.TIMEOUT,
        Category.CONNECTION,
        Category.TRUNCATED,
        Category.MALFORMED,
        Category.EMPTY,
        Category.UNEXPECTED,
    }
)
_BY_CLASS: tuple[tuple[type[BaseException], Category], ...] = (
    (lc.ContextOverflowError, Category.CONTEXT),
    (lc.ModelAuthenticationError, Category.AUTH),
    (lc.ModelPermissionDeniedError, Category.PERMISSION),
    (lc.ModelNotFoundError, Category.NOT_FOUND),
    (lc.ModelRateLimitError, Category.RATE_LIMIT),
    (lc.ModelTimeoutError, Category.TIMEOUT),
    (lc.ModelConnectionError, Category.CONNECTION),
    (lc.ModelAPIError, Category.OVERLOADED),
    (lc.ModelInvalidRequestError, Category.INVALID_REQUEST),
    (json.JSONDecodeError, Category.MALFORMED),
    (UnicodeDecodeError, Category.MALFORMED),
    (TimeoutError, Category.TIMEOUT),
    (ConnectionError, Category.CONNECTION),
)
_BY_NAME = {
    "APITimeoutError": Category.TIMEOUT,
    "TimeoutException": Category.TIMEOUT,
    "APIConnectionError": Category.CONNECTION,
    "TransportError": Category.CONNECTION,
    "ContentFilterFinishReasonError": Category.CONTENT_FILTER,
    "OpenAIRefusalError": Category.CONTENT_FILTER,
}


_FAILING: Mapping[Category, Failing] = {
    Category.AUTH: "key",
    Category.PERMISSION: "refused",
    Category.NOT_FOUND: "refused",
    Category.QUOTA: "refused",
    Category.RATE_LIMIT: "refused",
    Category.OVERLOADED: "unavailable",
    Category.TIMEOUT: "unavailable",
    Category.CONNECTION: "unavailable",
}


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A classified failure: `message` is one line for display.

    `retryable` is true if the same call may work later, after `retry_after` seconds if the provider says so.
    """

    category: Category
    message: str
    retryable: bool
    retry_after: float | None = None

    def to_error(self) -> ModelCallFailed:
        return ModelCallFailed(
            self.message, category=self.category, retryable=self.retryable, retry_after=self.retry_after
        )


def make_failure(
    category: Category,
    *,
    model: str,
    detail: str = "",
    retry_after: float | None = None,
    locale: str = "en",
) -> ProviderFailure:
    """Return a failure of a category; `detail` is appended in brackets."""
    line = render_failure(category, model=model, detail=detail, locale=locale)
    return ProviderFailure(category, line, category in _RETRYABLE, retry_after)


def describe_error(error: BaseException, *, model: str, locale: str = "en") -> ProviderFailure:
    """Classify an error from a provider's package, using only a redacted detail of it."""
    if isinstance(error, ModelCallFailed):
        return ProviderFailure(Category(error.category), str(error), error.retryable, error.retry_after)
    if isinstance(error, ModelError):
        return ProviderFailure(Category.UNAVAILABLE, str(error), retryable=False)
    category = _categorize(error)
    retry_after = parse_retry_after(getattr(getattr(error, "response", None), "headers", None) or {})
    detail = _failure_detail(category, error, retry_after, locale)
    return make_failure(category, model=model, detail=detail, retry_after=retry_after, locale=locale)


def note_outcome(failing: dict[str, Failing], model: str, category: Category | None) -> None:
    """Note why a model's call failed if that concerns all of its calls; forget it after a success (None)."""
    if category is None:
        failing.pop(model, None)
    elif category in _FAILING:
        failing[model] = _FAILING[category]


def _categorize(error: BaseException) -> Category:
    category = _first_category(error)
    code = str(getattr(error, "code", None) or "")
    if category is Category.RATE_LIMIT and code in {"insufficient_quota", "billing_hard_limit_reached"}:
        return Category.QUOTA
    if category is Category.INVALID_REQUEST:
        told = f"{error} {getattr(error, 'body', None)}"
        if BAD_KEY.search(told):
            return Category.AUTH
        if code == "tool_use_failed":
            return Category.MALFORMED
        if code == "context_length_exceeded" or OVERFLOW.search(told):
            return Category.CONTEXT
        if "content_filter" in code or "content_policy" in code:
            return Category.CONTENT_FILTER
    return category


def _first_category(error: BaseException) -> Category:
    for known, category in _BY_CLASS:
        if isinstance(error, known):
            return category
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return by_http_status(status)
    for parent in type(error).__mro__:
        if parent.__name__ in _BY_NAME:
            return _BY_NAME[parent.__name__]
    if (reported := classify_report(error)) is not None:
        return reported
    if _is_unreadable(error):
        return Category.MALFORMED
    return Category.CONNECTION if isinstance(error, OSError) else Category.UNEXPECTED


def _is_unreadable(error: BaseException) -> bool:
    """Return whether LangChain could not create a message from the response, for example because of other
    types.

    A TypeError about an argument is about a key of the configuration.
    """
    if isinstance(error, TypeError):
        return "argument" not in str(error)
    if isinstance(error, ValueError) and str(error).startswith(_NO_STREAM):
        return True
    return isinstance(error, ValidationError | LookupError | AttributeError)


def _failure_detail(category: Category, error: BaseException, retry_after: float | None, locale: str) -> str:
    if category is Category.RATE_LIMIT and retry_after:
        return render_wait(_round_up(retry_after), locale)
    if category in {Category.INVALID_REQUEST, Category.NOT_FOUND}:
        message = _body_message(getattr(error, "body", None))
        return redact_line(message) if isinstance(message, str) else ""
    return ""


def _body_message(body: Any) -> Any:
    """Return an error body's text; Google's is a list with one error, Mistral's may contain a list."""
    if isinstance(body, list):
        body = body[0] if body else None
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    message = body.get("message") if isinstance(body, dict) else None
    return json.dumps(message) if isinstance(message, list | dict) else message


def _round_up(seconds: float) -> str:
    """Format seconds, rounded up so that no retry comes too early."""
    return f"{seconds:g}" if seconds < 1 else str(math.ceil(seconds))


async def stop_long_retries(response: Any) -> None:
    """Stop a client's own retries if the response requires a longer wait than MAX_WAIT."""
    if response.status_code >= 400 and (parse_retry_after(response.headers) or 0.0) > MAX_WAIT:
        response.headers["x-should-retry"] = "false"


def limit_own_retries(model: Any) -> None:
    """Install the hook on the model's HTTP client, if it supports hooks."""
    client = getattr(getattr(model, "_async_client", None), "_client", None)
    hooks = getattr(client, "event_hooks", None)
    if isinstance(hooks, dict) and stop_long_retries not in hooks.get("response", ()):
        hooks.setdefault("response", []).append(stop_long_retries)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a response requires; None if unspecified.

    A date is compared with the response's own Date header, so that the local clock does not matter.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        until, now = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max((until - now).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None
