"""The open turns of a store, as lanes and commands."""

from __future__ import annotations

from bot.store.connection import Connection
from bot.store.turns import list_open_turns
from bot.turn import TurnKind


def list_open_lanes(connection: Connection) -> list[int]:
    """The conversations with open chat turns, in order."""
    found = list_open_turns(connection)
    return sorted({one.conversation for one in found if one.kind is TurnKind.CHAT})


def list_open_control_turns(connection: Connection) -> list[int]:
    """The open turns of commands and notices."""
    return [one.turn for one in list_open_turns(connection) if one.kind is not TurnKind.CHAT]
