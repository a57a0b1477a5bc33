"""Errors of the bot.

RoebotError
├── DeliveryError                 an adapter call failed; `category` is a closed set
│   ├── RateLimited               retry_after (seconds), scope (chat or account)
│   ├── NotModified               the platform already shows this text
│   └── TooLong                   (in bot.platforms.base) a text must become several messages
├── AccountError                  an account can't continue
│   ├── AccountRefused            invalid or revoked token, or missing scope: a person must fix it
│   └── AccountLost               connection lost: reconnecting may help
├── RuntimeProblem                the agent runtime
│   ├── RuntimeUnreachable        not running, or not responding
│   ├── RuntimeRefused            responded with an error; status, detail
│   └── RunMissing                unknown thread or run
├── StoreError                    the database
│   ├── StoreUnavailable          unreachable, locked, full or read-only for now; a later attempt may succeed
│   ├── OwnershipLost             another replica owns it now; name
│   └── HomeUnusable              corrupt, read-only or held by another process; path, reason
├── BackupFailed                  an archive can't be created or used; the message says why and what to do
├── SignOnError                   a sign-in by `server.oidc` failed; the message says why and what to do
├── ScheduleRefused               a schedule that can't be followed exactly; key (text catalogue), values
└── StartError                    the service can't start; the message says why and what to do
    └── ConfigUnusable            the agent runtime can't use its configuration; a person must fix it
"""

from __future__ import annotations

from enum import StrEnum


class DeliveryCategory(StrEnum):
    """Category of a delivery failure."""

    TRANSIENT = "transient"
    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    INVALID_PAYLOAD = "invalid_payload"
    CONFLICT = "conflict"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class RoebotError(Exception):
    """Base class of the bot's errors."""


class SignOnError(RoebotError):
    """A sign-in by `server.oidc` failed; the message says why and what to do."""


class DeliveryError(RoebotError):
    """A call to a platform failed.

    `unknown_outcome` is True if the platform may have executed it anyway (the response was lost).
    """

    def __init__(
        self, category: DeliveryCategory, detail: str = "", *, unknown_outcome: bool = False
    ) -> None:
        super().__init__(f"{category.value}: {detail}" if detail else category.value)
        self.category = category
        self.detail = detail
        self.unknown_outcome = unknown_outcome


class RateLimited(DeliveryError):
    """The platform requires a pause of `retry_after` seconds. `account_wide`: the limit applies to the
    account, not the chat.
    """

    def __init__(self, retry_after: float, detail: str = "", *, account_wide: bool = False) -> None:
        super().__init__(DeliveryCategory.RATE_LIMIT, detail or f"retry after {retry_after:g} s")
        self.retry_after = retry_after
        self.account_wide = account_wide


class NotModified(DeliveryError):
    """The platform already displays this text, so the edit is complete."""

    def __init__(self) -> None:
        super().__init__(DeliveryCategory.CONFLICT, "not modified")


class BackupFailed(RoebotError):
    """A backup archive can't be created or used; the message explains the reason and the remedy."""


class ScheduleRefused(RoebotError):
    """A schedule can't be followed exactly. `key` identifies the text that explains why, with these
    values.
    """

    def __init__(self, key: str, **values: object) -> None:
        said = ", ".join(f"{name}: {value}" for name, value in values.items())
        super().__init__(f"{key} ({said})" if said else key)
        self.key = key
        self.values = values


class AccountError(RoebotError):
    """An account can't continue; the message is a line for display, without secrets."""


class AccountRefused(AccountError):
    """The platform rejects the account; a person must fix the problem."""


class AccountLost(AccountError):
    """The connection of the account is lost; reconnecting may help."""


class RuntimeProblem(RoebotError):
    """A call to the agent runtime failed."""


class RuntimeUnreachable(RuntimeProblem):
    """The agent runtime is not running or does not respond."""


class RuntimeTimedOut(RuntimeUnreachable):
    """The agent runtime accepted a request, but did not answer in time."""


class RuntimeRefused(RuntimeProblem):
    """The agent runtime responded with an error."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"the agent runtime returned status {status}: {detail}")
        self.status = status
        self.detail = detail


class RunMissing(RuntimeProblem):
    """The agent runtime does not know this thread or run."""


class StoreError(RoebotError):
    """A database operation failed."""


class StoreUnavailable(StoreError):
    """The database can't be reached or written now; the same operation may succeed later."""


class OwnershipLost(StoreError):
    """This process does not own `name`, such as an account, so nothing was written."""

    def __init__(self, name: str) -> None:
        super().__init__(f"another replica owns {name}")
        self.name = name


class HomeUnusable(StoreError):
    """The data directory or its database can't be used."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class StartError(RoebotError):
    """The service can't start; the message explains the reason and the remedy."""


class ConfigUnusable(StartError):
    """The agent runtime can't start with its configuration."""
