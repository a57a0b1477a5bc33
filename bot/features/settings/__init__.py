"""Set-up in the API: models, accounts, event sources, access, limits and approvals in `config.yaml`."""

from bot.feature import Feature
from bot.features.settings import checks, routes

FEATURE = Feature("settings", routers=(routes.router, checks.router))
