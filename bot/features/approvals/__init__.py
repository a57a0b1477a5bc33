"""Approvals of tool calls: the requests, decisions by command, and the tools that need no more approval."""

from bot.feature import Feature
from bot.features.approvals.commands import COMMANDS
from bot.features.approvals.privacy import GrantData
from bot.features.approvals.requests import ApprovalRequests
from bot.features.approvals.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "approvals",
    commands=COMMANDS,
    run_hooks=ApprovalRequests,
    person_data=GrantData(),
    texts={"en": ENGLISH, "zh": CHINESE},
)
