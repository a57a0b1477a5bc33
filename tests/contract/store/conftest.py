"""The store on every database."""

from __future__ import annotations

import pytest

from bot.store import Database


@pytest.fixture
def db(database: Database) -> Database:
    return database
