"""Access control: nobody has access unless a rule grants it."""

from bot.access.granted_roles import GrantedRoles
from bot.access.permissions import Caller, Permission, PermissionPolicy, Target
from bot.access.policy import AccessPolicy, Role

__all__ = [
    "AccessPolicy",
    "Caller",
    "GrantedRoles",
    "Permission",
    "PermissionPolicy",
    "Role",
    "Target",
]
