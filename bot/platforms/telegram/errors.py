"""What Telegram's refusals and lost connections mean to the core."""

from __future__ import annotations

from telegram.error import TelegramError

from bot.errors import DeliveryCategory, DeliveryError, NotModified, RateLimited
from bot.platforms.telegram.redaction import without_token
from bot.platforms.telegram.request import TelegramRefused, TelegramNotSent

_GONE = (
    "not found",
    "message_id_invalid",
    "peer_id_invalid",
    "group chat was deactivated",
    "user_deactivated",
    "topic_deleted",
    "topic_closed",
)
_FORBIDDEN = (
    "not enough rights",
    "have no rights",
    "write_forbidden",
    "restricted",
    "administrator",
    "can't be edited",
    "can't be deleted",
)
_BY_STATUS = {
    401: DeliveryCategory.AUTH,
    403: DeliveryCategory.PERMISSION,
    404: DeliveryCategory.NOT_FOUND,
    409: DeliveryCategory.CONFLICT,
}


def delivery_error(error: TelegramError, *, posting: bool) -> DeliveryError:
    """The error to raise; `posting` says that repeating the call would show something twice."""
    if isinstance(error, TelegramRefused):
        return _refusal(error, posting)
    sent = not isinstance(error, TelegramNotSent)
    detail = without_token(str(error))
    return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting and sent)


def _refusal(error: TelegramRefused, posting: bool) -> DeliveryError:
    detail = without_token(error.description)
    if error.status == 429:
        return RateLimited(error.retry_after)
    if error.status >= 500:
        return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting)
    if error.status == 400:
        return _bad_request(detail)
    return DeliveryError(_BY_STATUS.get(error.status, DeliveryCategory.INVALID_PAYLOAD), detail)


def _bad_request(detail: str) -> DeliveryError:
    lowered = detail.lower()
    if "message is not modified" in lowered:
        return NotModified()
    if any(words in lowered for words in _GONE):
        return DeliveryError(DeliveryCategory.NOT_FOUND, detail)
    if any(words in lowered for words in _FORBIDDEN):
        return DeliveryError(DeliveryCategory.PERMISSION, detail)
    return DeliveryError(DeliveryCategory.INVALID_PAYLOAD, detail)
