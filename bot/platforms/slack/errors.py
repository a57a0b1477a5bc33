"""Errors of Slack calls, and their meaning for the core."""

from __future__ import annotations

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.http import UNSENT, HttpError, RequestNotSent

CALL_ERRORS = (SlackClientError, aiohttp.ClientError, HttpError, TimeoutError, OSError)
"""Errors that a call may raise."""
DEAD_TOKEN = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "not_authed",
        "token_expired",
        "token_revoked",
        "not_allowed_token_type",
        "org_login_required",
        "team_access_not_granted",
    }
)
"""Only a person can help with these."""
_PERMISSION = frozenset(
    {
        "access_denied",
        "cant_delete_message",
        "cant_update_message",
        "channel_is_limited_access",
        "ekm_access_denied",
        "is_archived",
        "is_inactive",
        "message_not_owned_by_app",
        "missing_scope",
        "no_permission",
        "not_in_channel",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "user_not_found",
        "user_not_in_channel",
    }
)
_GONE = frozenset(
    {
        "cant_post_message",
        "channel_not_found",
        "edit_window_closed",
        "file_not_found",
        "message_not_found",
        "thread_not_found",
        "invalid_thread_ts",
    }
)
REACTION_STANDS = frozenset({"already_reacted", "no_reaction"})
"""The reaction is as it was to be (docs.slack.dev, reactions.add and reactions.remove)."""
_PASSING = frozenset(
    {"fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org"}
)
STREAM_OVER = frozenset({"message_not_in_streaming_state"})
STREAM_OPEN = frozenset({"streaming_state_conflict", "stopped_by_user"})
"""The stream has to be ended before anything else is written: it still grows, or somebody pressed Slack's
stop button (docs.slack.dev, chat.update and chat.appendStream)."""
_NO_METHOD = 404
_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})


def refusal_name(error: Exception) -> str:
    """Return Slack's name for a refusal, or "" for other errors."""
    if not isinstance(error, SlackApiError):
        return ""
    answer = error.response
    data = getattr(answer, "data", answer)
    return str(data.get("error") or "") if isinstance(data, dict) else ""


def delivery_error(error: Exception, *, posting: bool) -> DeliveryError:
    """Convert an error of a call; with `posting`, repeating the call would duplicate a message."""
    if isinstance(error, SlackApiError):
        return _convert_refusal(error, posting)
    never_sent = isinstance(error, (*UNSENT, RequestNotSent))
    broken = f"the connection to Slack broke off ({type(error).__name__})"
    detail = str(error) if isinstance(error, HttpError) else broken
    return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting and not never_sent)


def read_retry_after(error: SlackApiError) -> float:
    """Return the wait in seconds that a 429 requires."""
    try:
        return max(1.0, float(error.response.headers.get("Retry-After", 1)))
    except (AttributeError, ValueError):
        return 1.0


def _convert_refusal(error: SlackApiError, posting: bool) -> DeliveryError:
    status = int(getattr(error.response, "status_code", 0) or 0)
    name = refusal_name(error)
    if status == 429 or name in _LIMITED:
        return RateLimited(read_retry_after(error))
    if status == _NO_METHOD and not name:
        # Slack returns unknown_method with status 200; compatible servers without the method may return this.
        return DeliveryError(DeliveryCategory.INVALID_PAYLOAD, f"HTTP status {status}")
    if status >= 500 or name in _PASSING or not name:
        detail = name or f"HTTP status {status}"
        return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting)
    return DeliveryError(_find_category(name), _describe(name, error))


def _find_category(name: str) -> DeliveryCategory:
    if name in DEAD_TOKEN:
        return DeliveryCategory.AUTH
    if name in _PERMISSION:
        return DeliveryCategory.PERMISSION
    if name in _GONE:
        return DeliveryCategory.NOT_FOUND
    if name in STREAM_OVER | STREAM_OPEN:
        return DeliveryCategory.CONFLICT
    return DeliveryCategory.INVALID_PAYLOAD


def _describe(name: str, error: SlackApiError) -> str:
    data = getattr(error.response, "data", None)
    wanted = data.get("needed") if isinstance(data, dict) else None
    return f"{name}: the app lacks {wanted}" if name == "missing_scope" and wanted else name
