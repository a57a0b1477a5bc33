"""Token usage of people and chats, and the limits that admins set in a chat."""

from bot.feature import Feature
from bot.features.usage.budgets import Budgets
from bot.features.usage.commands import BUDGET, USAGE
from bot.features.usage.privacy import UsageData
from bot.features.usage.routes import conversation_router, router
from bot.features.usage.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "usage",
    parts=(Budgets,),
    commands=(USAGE, BUDGET),
    routers=(router, conversation_router),
    person_data=UsageData(),
    texts={"en": ENGLISH, "zh": CHINESE},
)
