"""Who may do what: closed unless a rule opens it."""

from bot.access.policy import AccessPolicy, Role

__all__ = ["AccessPolicy", "Role"]
