"""Schedules: messages, agent tasks and digests at times chosen by people or the agent."""

from bot.feature import Feature
from bot.features.schedules.agent_calls import ScheduleHooks
from bot.features.schedules.digest_command import DIGEST
from bot.features.schedules.privacy import ScheduleData
from bot.features.schedules.routes import router
from bot.features.schedules.scheduler import Scheduler
from bot.features.schedules.service import ScheduleService
from bot.features.schedules.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "schedules",
    parts=(Scheduler, lambda core: ScheduleService(core, core.part(Scheduler))),
    commands=(DIGEST,),
    jobs={"schedules": lambda core: core.part(Scheduler).run()},
    routers=(router,),
    run_hooks=ScheduleHooks,
    person_data=ScheduleData(),
    texts={"en": ENGLISH, "zh": CHINESE},
)
