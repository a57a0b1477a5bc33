"""Roles granted in chats and in the console, and access requests by pairing code.

An admin enters the code that the person got; if people entered codes, anyone could guess them. The code, the
role, the welcome message and the reply are written in one transaction, so a code works once, even after a
crash. Whoever uses the console or the terminal is an owner, so a new installation gets its first one without
configuration.
"""

from bot.feature import Feature
from bot.features.people.commands import COMMANDS
from bot.features.people.privacy import PeopleData
from bot.features.people.routes import router
from bot.features.people.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "people",
    commands=COMMANDS,
    routers=(router,),
    person_data=PeopleData(),
    texts={"en": ENGLISH, "zh": CHINESE},
)
