"""Registration of the feature. It stores nothing: schedules are in the configuration or elsewhere."""

from bot.feature import Feature
from bot.features.oncall.command import ONCALL
from bot.features.oncall.on_call import OnCallSchedules
from bot.features.oncall.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "oncall",
    parts=(OnCallSchedules,),
    commands=(ONCALL,),
    local_jobs={"oncall": lambda core: core.part(OnCallSchedules).run()},
    texts={"en": ENGLISH, "zh": CHINESE},
)
