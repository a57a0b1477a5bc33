"""Set-up in the API: models, accounts, event sources, access, limits and approvals in `config.yaml`."""

from bot.feature import Feature
from bot.features.settings.checks import router as checks
from bot.features.settings.routes import router

FEATURE = Feature("settings", routers=(router, checks))
