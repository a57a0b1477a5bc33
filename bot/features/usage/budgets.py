"""Limits of messages and tokens, from the configuration and granted at run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bot.access.policy import Role
from bot.config.models import BudgetLimits
from bot.domain import ChatKind, Origin, person_of
from bot.features.usage.budget_checks import (
    BudgetScope,
    BudgetUnit,
    EntryBudget,
    SenderLimits,
    UsageLimit,
    list_budgets,
    set_budget,
)
from bot.store.audit import Actor
from bot.store.usage_limits import UNLIMITED, UsageLimits
from bot.texts import Texts
from bot.wiring import Core, LimitsUsage


class Budgets(LimitsUsage):
    """Active limits, in memory because every message needs them."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._given: Mapping[str, EntryBudget] = {}

    async def load_settings(self) -> None:
        """Reload granted limits from the store."""
        self._given = {one.entry: one for one in await self._core.db.transact(list_budgets)}

    async def set_limit(self, one: EntryBudget, actor: Actor, now: float) -> None:
        """Grant a limit, replacing an earlier one; an empty limit revokes it."""
        await self._core.db.transact(set_budget, one, actor, now)
        await self.load_settings()

    def list_granted(self) -> list[EntryBudget]:
        """Return the granted limits, by entry."""
        return [*self._given.values()]

    def limits_for(
        self, origin: Origin, role: Role, texts: Texts, *, is_scheduled: bool = False
    ) -> UsageLimits:
        """Return a sender's limits in their chat; for a scheduled run, only the token limits."""
        limits = self.list_limits(origin, role, texts)
        if is_scheduled:
            limits = tuple(
                replace(one, notice=texts(f"schedule_budget_{one.of}", most=one.most, minutes="{minutes}"))
                for one in limits
                if one.what is BudgetUnit.TOKENS
            )
        return SenderLimits(limits) if limits else UNLIMITED

    def list_limits(self, origin: Origin, role: Role, texts: Texts) -> tuple[UsageLimit, ...]:
        """Return the limits of a sender with this role in their chat; owners have none."""
        if role >= Role.OWNER:
            return ()
        config = self._core.config.budgets
        sides = [
            (BudgetScope.PERSON, config.person, self._of_person(origin)),
            (BudgetScope.ACCOUNT, config.account, None),
        ]
        if origin.chat_kind is ChatKind.GROUP:
            sides.insert(1, (BudgetScope.CHAT, config.chat, self._granted_to(origin, origin.chat)))
        return tuple(limit for side in sides for limit in _limits(origin, *side, texts))

    def _of_person(self, origin: Origin) -> EntryBudget | None:
        """Return the limit granted to a message's author, by the account they are known on."""
        sender = origin.sender
        if not sender.account:
            return self._granted_to(origin, sender.id)
        id_ = sender.id.partition(":")[2]
        return self._given.get(f"{sender.account}:{id_}") or self._given.get(sender.id)

    def _granted_to(self, origin: Origin, id_: str) -> EntryBudget | None:
        """Return the limit granted to a person or chat on the account, or else on the whole platform."""
        return self._given.get(f"{origin.account}:{id_}") or self._given.get(f"{origin.platform}:{id_}")


def _limits(
    origin: Origin, of: BudgetScope, config: BudgetLimits, granted: EntryBudget | None, texts: Texts
) -> Iterator[UsageLimit]:
    for what, configured, own in (
        (BudgetUnit.MESSAGES, config.messages_per_hour, granted.messages if granted else None),
        (BudgetUnit.TOKENS, config.tokens_per_day, granted.tokens if granted else None),
    ):
        most = configured if own is None else own
        if most:
            notice = texts(f"budget_{of}_{what}", most=most, minutes="{minutes}")
            person = person_of(origin.platform, origin.sender)
            yield UsageLimit(of, what, most, person, origin.account, origin.chat, notice)
