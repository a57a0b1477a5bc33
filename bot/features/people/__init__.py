"""Roles that are granted in chats and in the console, and access requests by pairing code."""

from bot.feature import Feature
from bot.features.people.commands import COMMANDS
from bot.features.people.routes import router

FEATURE = Feature("people", commands=COMMANDS, routers=(router,))
