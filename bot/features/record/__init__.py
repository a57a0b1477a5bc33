"""Reading of chats: the agent can ask for messages of the group that it answers in."""

from bot.feature import Feature
from bot.features.record.chat_reader import ChatReader

FEATURE = Feature("record", run_hooks=ChatReader)
