"""What the feature adds to the service. What other features store about people is reached through their
`person_data`.
"""

from bot.feature import Feature
from bot.features.privacy import audit_routes, routes
from bot.features.privacy.audit_command import AUDIT
from bot.features.privacy.audit_seals import AuditSealer
from bot.features.privacy.commands import DATA
from bot.features.privacy.deletion_job import DeletionJob
from bot.features.privacy.hooks import PrivacyHooks
from bot.features.privacy.texts import CHINESE, ENGLISH

FEATURE = Feature(
    "privacy",
    parts=(DeletionJob, lambda core: AuditSealer(core.db, core.clock, core.home)),
    commands=(DATA, AUDIT),
    routers=(routes.router, routes.conversations, audit_routes.router),
    jobs={
        "forgetting": lambda core: core.part(DeletionJob).run(),
        "housekeeping": lambda core: core.part(DeletionJob).run_purge(),
        "audit": lambda core: core.part(AuditSealer).run(),
    },
    run_hooks=PrivacyHooks,
    texts={"en": ENGLISH, "zh": CHINESE},
)
