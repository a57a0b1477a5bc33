"""The section `database`, and the sections that a server reads before its graphs are loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from agent.config.document import read_document
from agent.config.models import LoggingConfig, TracingConfig
from agent.config.reader import check_section, display_path, find_config
from agent.config.secrets_file import read_secrets
from agent.config.types import Section


class DatabaseConfig(Section):
    """The database of conversations and of the agent's threads."""

    url: SecretStr | None = Field(
        None, description="URL of a PostgreSQL database (14 or newer); null: SQLite in the data directory."
    )

    @field_validator("url")
    @classmethod
    def _is_known(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not re.match(r"(?:sqlite|postgresql)(?:\+[a-z0-9_]+)?://", value.get_secret_value()):
            raise ValueError("expected an address such as postgresql://user:password@host/name")
        return value


class ServerSections(Section):
    """The sections that a server needs at its start."""

    database: DatabaseConfig = Field(default_factory=DatabaseConfig)
    logging: LoggingConfig = Field(default_factory=LoggingConfig)
    tracing: TracingConfig = Field(default_factory=TracingConfig)

    @property
    def postgres_url(self) -> str | None:
        """The URL of the PostgreSQL database, None for SQLite."""
        written = self.database.url.get_secret_value() if self.database.url else ""
        return written if written.startswith("postgresql") else None


def read_server_sections(
    explicit: Path | None, env: Mapping[str, str], cwd: Path, home: Path
) -> ServerSections:
    """Read these sections of the configuration file; the others are not checked. Raises ConfigErrors."""
    path = find_config(explicit, env, cwd, home)
    if path is None:
        return ServerSections()
    document = read_document(path, display_name=display_path(path, cwd), may_be_empty=True)
    own = {key: value for key, value in document.data.items() if key in ServerSections.model_fields}
    return check_section(ServerSections, replace(document, data=own, secrets=read_secrets(path)), env)


def read_database_url(explicit: Path | None, env: Mapping[str, str], cwd: Path, home: Path) -> str | None:
    """Return the URL of the PostgreSQL database from the configuration file, or None. Raises ConfigErrors."""
    return read_server_sections(explicit, env, cwd, home).postgres_url
