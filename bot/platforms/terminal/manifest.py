"""The manifest of the terminal."""

from bot.platforms.base import Budget, Manifest, Scope

_OWN = "Roebot's own limit: as many updates as a person can perceive, to keep the cost of a turn low"

MANIFEST = Manifest(
    platform="terminal",
    title="Terminal",
    adapter="bot.platforms.local.adapter:create_terminal",
    extra="",
    budgets=(Budget(Scope.CHAT, 50, 1.0, _OWN),),
    first_frame_after=0.0,
    first_frame_characters=1,
    frame_interval=0.05,
)
"""Frames come at most every 50 ms."""
