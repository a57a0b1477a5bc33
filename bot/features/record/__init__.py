"""Chat records: messages of a group, which admins choose to store and the agent can read."""

from bot.feature import Feature
from bot.features.record.chat_reader import ChatReader
from bot.features.record.commands import RECORD
from bot.features.record.privacy import RecordData
from bot.features.record.recorder import ChatRecorder
from bot.features.record.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "record",
    parts=(ChatRecorder,),
    commands=(RECORD,),
    run_hooks=ChatReader,
    person_data=RecordData(),
    texts={"en": ENGLISH, "zh": CHINESE},
)
