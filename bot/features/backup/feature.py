"""Registration of the feature."""

from bot.feature import Feature
from bot.features.backup.copies import BackupData

FEATURE = Feature("backup", person_data=BackupData())
