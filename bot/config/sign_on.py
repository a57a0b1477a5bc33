"""The section `server.oidc`: sign-on to the web console by OpenID Connect."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from agent.config.types import Secret, Section, Text
from agent.shared.client_address import is_loopback
from bot.config.access import AccessConfig, AccessEntry
from bot.domain import SIGN_ON

GROUP = "usergroup"


class OidcConfig(Section):
    """Sign-on to the web console by an OpenID Connect provider."""

    issuer: Text = Field(description="Issuer URL of the provider, exactly as its discovery document has it.")
    client_id: Text = Field(description="Client ID.")
    client_secret: Secret = Field(description="Client secret.")
    groups_claim: Text = Field("groups", description="Claim of the ID token with a person's groups.")
    name_claim: Text = Field("name", description="Claim of the ID token with a person's name.")
    roles: dict[Text, Literal["owner", "admin", "member"]] = Field(
        default_factory=dict,
        description="Role on all accounts by group. Others have no access without a granted role.",
    )

    @field_validator("issuer")
    @classmethod
    def _is_secure(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        if not secure or not re.fullmatch(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", issuer):
            raise ValueError("expected an https address such as https://id.example.org/realms/main")
        return issuer

    @property
    def membership(self) -> str:
        """Return what everyone who signs in here belongs to; people of a former issuer don't."""
        return f"issuer:{self.issuer}"

    @property
    def rules(self) -> AccessConfig:
        """Return the access rules for people who signed in."""
        lists: dict[str, list[AccessEntry]] = {"owners": [], "admins": [], "members": []}
        for group, role in self.roles.items():
            lists[f"{role}s"].append(AccessEntry(SIGN_ON, group, GROUP))
        return AccessConfig.model_validate({"default": "closed", **lists})
