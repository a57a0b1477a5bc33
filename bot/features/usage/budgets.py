"""Limits of messages and tokens, from the configuration and granted at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

from bot.access.policy import Role
from bot.account_view import LimitsUsage
from bot.domain import APP_PREFIX, ChatKind, Origin, person_of
from bot.features.usage.budget_checks import (
    BudgetScope,
    BudgetUnit,
    EntryBudget,
    SenderLimits,
    UsageLimit,
    list_budgets,
    set_budget,
)
from bot.features.usage.usage_store import sum_usage
from bot.profiles import DEFAULT, SCOPES, PlacedSettings, ProvidesSettings, TurnPlace
from bot.store.audit import Actor
from bot.store.connection import Connection
from bot.store.open_work import Reach
from bot.store.usage_limits import UNLIMITED, UsageLimits
from bot.texts import Texts
from bot.wiring import Core

_NAMES = {BudgetUnit.MESSAGES: "messages_per_hour", BudgetUnit.TOKENS: "tokens_per_day"}


class Budgets(LimitsUsage, ProvidesSettings):
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

    def collect_overview(self, connection: Connection, reach: Reach, midnight: float) -> Mapping[str, Any]:
        """Return the usage since midnight: of the accounts within reach, or else one's own."""
        sees_others = reach.accounts is None or reach.accounts
        person, accounts = (None, reach.accounts) if sees_others else (next(iter(reach.owners)), None)
        return {"spend": asdict(sum_usage(connection, midnight, person, accounts=accounts))}

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
        profile, usual = self._core.account(origin.account).profile_for(origin), self._core.config.budgets
        person, found = person_of(origin.platform, origin.sender), []
        placed = {
            (SCOPES.get(one.level, BudgetScope.ACCOUNT), name): one.values[0]
            for name in _NAMES.values()
            for one in profile.settings.get(name, ())
        }
        for of, (what, name) in product(BudgetScope, _NAMES.items()):
            is_usual = of is not BudgetScope.CHAT or origin.chat_kind is ChatKind.GROUP
            word = placed.get((of, name), DEFAULT)
            most = getattr(getattr(usual, of), name) if is_usual else None
            most = most if word == DEFAULT else int(word.replace("k", "000"))
            if most:
                notice = texts(f"budget_{of}_{what}", most=most, minutes="{minutes}")
                found.append(UsageLimit(of, what, most, person, origin.account, origin.chat, notice))
        return tuple(found)

    def list_settings(self, place: TurnPlace) -> Sequence[PlacedSettings]:
        person = place.person.partition(":")[2].removeprefix(APP_PREFIX)
        home, platform = place.home or place.account, place.person.partition(":")[0] or place.platform
        sides = [({"person": place.person}, [f"{home}:{person}", f"{platform}:{person}"])]
        if place.chat != person:  # the id of a private chat can be that of its person
            sides.append(
                ({"chat": place.chat}, [f"{at}:{place.chat}" for at in (place.account, place.platform)])
            )
        return [
            PlacedSettings("/budget", TurnPlace(account=place.account, **level), _to_values(granted))
            for level, entries in sides
            if (granted := next((self._given[one] for one in entries if one in self._given), None))
        ]


def _to_values(one: EntryBudget) -> dict[str, tuple[str, ...]]:
    limits = {BudgetUnit.MESSAGES: one.messages, BudgetUnit.TOKENS: one.tokens}
    return {_NAMES[what]: (str(most),) for what, most in limits.items() if most is not None}
