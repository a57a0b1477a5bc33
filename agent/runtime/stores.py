"""The stores of checkpoints and items on SQLite and PostgreSQL, whose packages are optional."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import BaseStore

from agent.runtime.faults import Faults
from agent.runtime.run_saver import RunSaver
from agent.runtime.saver import RuntimeSaver
from agent.runtime.store.items import ItemStore

Place = Path | str
"""A SQLite file, or the URL of a PostgreSQL database."""


def open_saver(
    place: Place, *, serde: SerializerProtocol | None = None, faults: Faults | None = None
) -> AbstractAsyncContextManager[RunSaver]:
    """Return the saver of a database, which is opened when it is entered.

    Blocks while packages are loaded.
    """
    if isinstance(place, Path):
        return RuntimeSaver.open(place, serde=serde, faults=faults)
    found = import_module("agent.runtime.postgres_saver").PostgresRuntimeSaver
    saver: AbstractAsyncContextManager[RunSaver] = found.open(place, serde=serde, faults=faults)
    return saver


def open_items(place: Place) -> AbstractAsyncContextManager[BaseStore]:
    """Return the item store of a database, as `open_saver` does."""
    if isinstance(place, Path):
        return ItemStore.open(place)
    found = import_module("agent.runtime.store.postgres_items").PostgresItemStore
    items: AbstractAsyncContextManager[BaseStore] = found.open(place)
    return items
