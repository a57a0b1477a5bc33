"""The rules of single accounts, beside those for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from bot.config import AccessConfig, AccessEntry, AccessOverrides


@dataclass(frozen=True, slots=True)
class OwnRules:
    """What the configuration says for one account: `access` as it stands there, `rules` as they hold."""

    account: str
    platform: str
    access: AccessOverrides
    rules: AccessConfig

    def meant_by(self, entry: AccessEntry) -> bool:
        """Whether an entry is about this account."""
        return entry.scope in (self.account, self.platform)
