"""Who may use how much: what the configuration says, and what people gave while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from bot.access.policy import Role
from bot.config.models import BudgetLimits, BudgetsConfig
from bot.domain import ChatKind, Origin, person_of
from bot.store import Database
from bot.store.audit import Actor
from bot.store.budgets import Budget, BudgetScope, BudgetUnit, Limit, find_refusal, list_budgets, set_budget
from bot.texts import Texts


class Budgets:
    """Asked for every message, so it is in memory. `load` comes first."""

    def __init__(self, db: Database, config: Callable[[], BudgetsConfig]) -> None:
        self._db = db
        self._config = config
        self._given: Mapping[str, Budget] = {}

    async def load_limits(self) -> None:
        """Read anew what was given."""
        self._given = {one.entry: one for one in await self._db.run(list_budgets)}

    async def set_limit(self, one: Budget, actor: Actor, now: float) -> None:
        """Give a budget in place of another; one that says nothing is taken away."""
        await self._db.run(set_budget, one, actor, now)
        await self.load_limits()

    def list_granted(self) -> list[Budget]:
        """Every budget that was given, by entry."""
        return [*self._given.values()]

    def limits_for(self, origin: Origin, role: Role, texts: Texts) -> tuple[Limit, ...]:
        """What somebody with this role is held to where they write; owners are held to nothing."""
        if role >= Role.OWNER:
            return ()
        config = self._config()
        sides = [
            (BudgetScope.PERSON, config.person, self._of_person(origin)),
            (BudgetScope.ACCOUNT, config.account, None),
        ]
        if origin.chat_kind is ChatKind.GROUP:
            sides.insert(1, (BudgetScope.CHAT, config.chat, self._granted_to(origin, origin.chat)))
        return tuple(limit for side in sides for limit in _limits(origin, *side, texts))

    async def exhausted_limit(self, origin: Origin, role: Role, texts: Texts, now: float) -> str:
        """Return why a scheduled run is skipped if a limit of tokens is used up, else ""."""
        found = [
            replace(limit, notice=texts(f"schedule_budget_{limit.of}", most=limit.most, minutes="{minutes}"))
            for limit in self.limits_for(origin, role, texts)
            if limit.what is BudgetUnit.TOKENS
        ]
        return await self._db.run(find_refusal, found, now) if found else ""

    def _of_person(self, origin: Origin) -> Budget | None:
        """What was given to the author of a message, where they are known from."""
        sender = origin.sender
        if not sender.account:
            return self._granted_to(origin, sender.id)
        id_ = sender.id.partition(":")[2]
        return self._given.get(f"{sender.account}:{id_}") or self._given.get(sender.id)

    def _granted_to(self, origin: Origin, id_: str) -> Budget | None:
        """What was given to a person or chat: for the account, else for the whole platform."""
        return self._given.get(f"{origin.account}:{id_}") or self._given.get(f"{origin.platform}:{id_}")


def _limits(
    origin: Origin, of: BudgetScope, config: BudgetLimits, given: Budget | None, texts: Texts
) -> Iterator[Limit]:
    for what, configured, own in (
        (BudgetUnit.MESSAGES, config.messages_per_hour, given.messages if given else None),
        (BudgetUnit.TOKENS, config.tokens_per_day, given.tokens if given else None),
    ):
        most = configured if own is None else own
        if most:
            notice = texts(f"budget_{of}_{what}", most=most, minutes="{minutes}")
            person = person_of(origin.platform, origin.sender)
            yield Limit(of, what, most, person, origin.account, origin.chat, notice)
