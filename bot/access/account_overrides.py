"""Access rules of single accounts, which override those of all accounts."""

from __future__ import annotations

from dataclasses import dataclass

from bot.config import AccessConfig, AccessEntry, AccessOverrides


@dataclass(frozen=True, slots=True)
class AccountRules:
    """Access rules of one account: `access` as configured, `rules` as they take effect."""

    account: str
    platform: str
    access: AccessOverrides
    rules: AccessConfig

    def is_covered_by(self, entry: AccessEntry) -> bool:
        """Return whether an entry covers this account."""
        return entry.scope in (self.account, self.platform)
