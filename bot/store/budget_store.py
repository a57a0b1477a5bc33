"""Budgets as methods: one method, one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from bot.store import budgets
from bot.store.audit import Actor
from bot.store.budgets import Budget, Limit, Used
from bot.store.connection import Connection
from bot.store.database import Database


class BudgetStore:
    """The budgets of a database; each method is the function of that name in `bot.store.budgets`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def used(self, limits: Sequence[Limit], now: float) -> list[Used]:
        """How much of each limit is used."""
        return await self._database.run(_used, limits, now)

    async def refusal(self, limits: Sequence[Limit], now: float) -> str:
        """What somebody is told whose budget is used up, "" where none is."""
        return await self._database.run(budgets.refusal, limits, now)

    async def take(self, limits: Sequence[Limit], now: float) -> str:
        """Count a message unless a budget is used up; what somebody is told then, "" otherwise."""
        return await self._database.run(budgets.take, limits, now)

    async def listed(self) -> list[Budget]:
        """Every budget that was given, by entry."""
        return await self._database.run(budgets.listed)

    async def give(self, one: Budget, actor: Actor, now: float) -> None:
        """Give a budget in place of another; one that says nothing is taken away."""
        await self._database.run(budgets.give, one, actor, now)

    async def forget(self, before: float) -> None:
        """Drop counts of hours before then."""
        await self._database.run(budgets.forget, before)


def _used(connection: Connection, limits: Sequence[Limit], now: float) -> list[Used]:
    return [budgets.used(connection, limit, now) for limit in limits]
