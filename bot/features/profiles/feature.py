"""Registration of the feature."""

from bot.feature import Feature
from bot.features.profiles.chat_settings import CHAT_SETTINGS, ChatSettings, ChatSettingsData
from bot.features.profiles.commands import list_commands
from bot.features.profiles.routes import router
from bot.features.profiles.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "profiles",
    parts=(ChatSettings,),
    tables=(CHAT_SETTINGS,),
    commands=tuple(list_commands()),
    routers=(router,),
    person_data=ChatSettingsData(),
    texts={"en": ENGLISH, "zh": CHINESE},
)
