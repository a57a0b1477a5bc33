"""Who may do what: closed unless a rule opens it."""

from bot.access.people import People
from bot.access.permissions import Power, may
from bot.access.policy import AccessPolicy, Role

__all__ = ["AccessPolicy", "People", "Power", "Role", "may"]
