"""Events from other systems, which become incidents in chats."""

from bot.feature import Feature
from bot.features.events.incident_command import INCIDENT
from bot.features.events.incidents import IncidentCards
from bot.features.events.privacy import IncidentData
from bot.features.events.receiver import EventReceiver
from bot.features.events.routes import router
from bot.features.events.tables import TABLES
from bot.features.events.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "events",
    parts=(EventReceiver, IncidentCards),
    tables=TABLES,
    commands=(INCIDENT,),
    routers=(router,),
    jobs={"incidents": lambda core: core.part(IncidentCards).run(core.part(EventReceiver).find_timings)},
    person_data=IncidentData(),
    texts={"en": ENGLISH, "zh": CHINESE},
)
