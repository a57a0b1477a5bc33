"""Voice messages: the agent reads their transcripts, which are stored with the message and the chat's
record.
"""

from bot.feature import Feature
from bot.features.voice.hooks import VoiceTranscripts
from bot.features.voice.texts import CHINESE, ENGLISH

FEATURE = Feature("voice", run_hooks=VoiceTranscripts, texts={"en": ENGLISH, "zh": CHINESE})
