"""Schedules: messages, tasks of the agent and digests at times that people or the agent choose."""

from bot.commands.digest import DIGEST
from bot.dispatch.run.schedule_calls import ScheduleHooks
from bot.feature import Feature
from bot.schedules.scheduler import Scheduler
from bot.schedules.service import ScheduleService
from bot.server.api.schedules import router

FEATURE = Feature(
    "schedules",
    parts=(Scheduler, lambda core: ScheduleService(core, core.part(Scheduler))),
    commands=(DIGEST,),
    jobs={"schedules": lambda core: core.part(Scheduler).run()},
    routers=(router,),
    run_hooks=ScheduleHooks,
)
