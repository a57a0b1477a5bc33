"""Back up the data directory to an archive, and restore it."""

from bot.feature import Feature
from bot.features.backup.copies import BackupData

FEATURE = Feature("backup", person_data=BackupData())
