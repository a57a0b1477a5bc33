"""An account's entry in `channels`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from bot.config import AccountConfig, Secret, Url


class MatrixAccount(AccountConfig):
    """A user of a Matrix homeserver."""

    # Identifiers: spec.matrix.org/latest/appendices/#identifier-grammar. A room's id has had no server's name
    # since room version 12.
    person_pattern: ClassVar[str] = r"@[^:\s]{1,200}:[A-Za-z0-9.:\[\]-]{1,230}"
    group_pattern: ClassVar[str] = r"![^:\s]{1,200}(:[A-Za-z0-9.:\[\]-]{1,230})?"
    person_words: ClassVar[str] = "a person's Matrix id (@name:server)"
    group_words: ClassVar[str] = "a room's id (!…)"
    identity: ClassVar[str] = "access_token"

    platform: Literal["matrix"] = "matrix"
    base_url: Url | None = Field(
        None, description="The address of the homeserver, such as https://matrix.example.org."
    )
    access_token: Secret | None = Field(None, description="The access token of the bot's user.")

    def needs(self) -> Mapping[str, str]:
        return {
            "base_url": "add the address of the homeserver, such as https://matrix.example.org",
            "access_token": "add the access token of the bot's user",
        }
