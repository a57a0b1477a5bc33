"""Buttons below messages, within Discord's limits."""

from __future__ import annotations

from typing import Any

from bot.testing.emulators.discord.errors import invalid

ACTION_ROW, BUTTON = 1, 2
ROWS, ROW = 5, 5
LABEL_LIMIT, ID_LIMIT = 80, 100
"""docs.discord.com/developers/components/reference#action-row and #button"""


def components_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the components of a new message. Raises ApiRefusal 400 for what Discord refuses."""
    rows = body.get("components") or []
    if not isinstance(rows, list) or len(rows) > ROWS:
        raise invalid(components="Must be 5 or fewer in length.")
    for row in rows:
        if row.get("type") != ACTION_ROW or not 1 <= len(row.get("components", [])) <= ROW:
            raise invalid(components="An action row holds between 1 and 5 buttons.")
    buttons = [button for row in rows for button in row["components"]]
    for button in buttons:
        _check(button)
    names = [button["custom_id"] for button in buttons]
    if len(set(names)) != len(names):
        raise invalid(components="Component custom id cannot be duplicated")
    return rows


def labels(rows: list[dict[str, Any]]) -> list[str]:
    """Return the labels of the buttons that can be pressed."""
    buttons = [button for row in rows for button in row["components"]]
    return [button["label"] for button in buttons if not button.get("disabled")]


def custom_id(rows: list[dict[str, Any]], label: str) -> str:
    """Return the id of the button with a label; the label itself if there is none."""
    buttons = [button for row in rows for button in row["components"]]
    return next((button["custom_id"] for button in buttons if button["label"] == label), label)


def _check(button: dict[str, Any]) -> None:
    if button.get("type") != BUTTON or button.get("style") not in (1, 2, 3, 4):
        raise invalid(components="The emulator knows buttons that are no links.")
    if not 1 <= len(str(button.get("label") or "")) <= LABEL_LIMIT:
        raise invalid(components="Must be between 1 and 80 in length.")
    if not 1 <= len(str(button.get("custom_id") or "")) <= ID_LIMIT:
        raise invalid(components="Must be between 1 and 100 in length.")
