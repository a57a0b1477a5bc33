"""Decisions about tool calls by command, and the tools that need no more approval."""

from bot.feature import Feature
from bot.features.approvals.commands import COMMANDS
from bot.features.approvals.privacy import GrantData

FEATURE = Feature("approvals", commands=COMMANDS, person_data=GrantData())
