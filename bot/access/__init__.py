"""Access control: no one has access unless a rule grants it."""

from bot.access.granted_roles import GrantedRoles
from bot.access.permissions import Permission, has_permission
from bot.access.policy import AccessPolicy, Role

__all__ = ["AccessPolicy", "GrantedRoles", "Permission", "Role", "has_permission"]
