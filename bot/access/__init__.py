"""Who may do what: closed unless a rule opens it."""

from bot.access.people import People
from bot.access.policy import AccessPolicy, Role
from bot.access.powers import Power, may

__all__ = ["AccessPolicy", "People", "Power", "Role", "may"]
