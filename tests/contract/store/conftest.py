"""The store on every database."""

from __future__ import annotations

import pytest

from bot.store import BotStore, Database


@pytest.fixture
def store(database: Database) -> BotStore:
    return BotStore(database)
