"""Every error of the bot.

RoebotError
├── DeliveryError                 an adapter could not do what was asked; `category` is a closed set
│   ├── RateLimited               retry_after (seconds), scope (chat or account)
│   └── NotModified               the platform shows that text already
├── AccountError                  an account cannot go on
│   ├── AccountRefused            bad or revoked token, missing scope: nothing helps but a person
│   └── AccountLost               connection lost: trying again helps
├── RuntimeProblem                the agent runtime
│   ├── RuntimeUnreachable        not there, or not answering
│   ├── RuntimeRefused            answered with an error; status, detail
│   └── RunMissing                the thread or run is unknown there
├── StoreError                    the database
│   └── HomeUnusable              corrupt, read-only or held by another process; path, reason
├── BackupFailed                  an archive can't be made or used; the message says why and what to do
├── ScheduleRefused               a time that can't be kept exactly; key (of the catalogue), values
└── StartError                    the service cannot start; the message says why and what to do
    └── ConfigUnusable            the agent runtime can't use what is configured; only a person can fix it
"""

from __future__ import annotations

from enum import StrEnum


class DeliveryCategory(StrEnum):
    """The closed set of delivery failures."""

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
    """Something went wrong that Roebot knows how to name."""


class DeliveryError(RoebotError):
    """A call to a platform failed.

    `unknown_outcome` is True where the platform may have done it all the same (response lost).
    """

    def __init__(
        self, category: DeliveryCategory, detail: str = "", *, unknown_outcome: bool = False
    ) -> None:
        super().__init__(f"{category.value}: {detail}" if detail else category.value)
        self.category = category
        self.detail = detail
        self.unknown_outcome = unknown_outcome


class RateLimited(DeliveryError):
    """The platform asks to wait `retry_after` seconds; `account_wide` tells a bot's limit from a chat's."""

    def __init__(self, retry_after: float, detail: str = "", *, account_wide: bool = False) -> None:
        super().__init__(DeliveryCategory.RATE_LIMIT, detail or f"retry after {retry_after:g} s")
        self.retry_after = retry_after
        self.account_wide = account_wide


class NotModified(DeliveryError):
    """The message shows that text already: an edit that is done."""

    def __init__(self) -> None:
        super().__init__(DeliveryCategory.CONFLICT, "not modified")


class BackupFailed(RoebotError):
    """An archive can't be created or used; the message says why, and what to do."""


class ScheduleRefused(RoebotError):
    """A schedule can't be kept exactly. `key` names the text that says why, with these values."""

    def __init__(self, key: str, **values: object) -> None:
        said = ", ".join(f"{name}: {value}" for name, value in values.items())
        super().__init__(f"{key} ({said})" if said else key)
        self.key = key
        self.values = values


class AccountError(RoebotError):
    """An account cannot go on; the message is a clear line without secrets."""


class AccountRefused(AccountError):
    """The platform refuses the account: only a person can fix it."""


class AccountLost(AccountError):
    """The connection of the account is lost: trying again helps."""


class RuntimeProblem(RoebotError):
    """The agent runtime did not do what was asked."""


class RuntimeUnreachable(RuntimeProblem):
    """The agent runtime is not there or does not answer."""


class RuntimeRefused(RuntimeProblem):
    """The agent runtime answered with an error."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"the agent runtime answered {status}: {detail}")
        self.status = status
        self.detail = detail


class RunMissing(RuntimeProblem):
    """The agent runtime does not know this thread or run."""


class StoreError(RoebotError):
    """The database did not do what was asked."""


class HomeUnusable(StoreError):
    """The home folder or its database cannot be used."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class StartError(RoebotError):
    """The service cannot start; the message says why and what to do next."""


class ConfigUnusable(StartError):
    """The agent runtime can't start with what is configured."""
