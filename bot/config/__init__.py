"""The complete configuration: the agent's and the bot's sections of one `config.yaml`."""

from agent.config.database import DatabaseConfig
from agent.config.errors import ConfigError, ConfigErrors, ConfigWarning
from agent.config.models import CheckpointerConfig, LimitsConfig, LoggingConfig, ModelEntry
from agent.config.types import Secret, Url
from bot.config.access import AccessConfig, AccessEntry, AccessOverrides, AppRule
from bot.config.accounts import AccountConfig
from bot.config.loader import LoadedConfig, load_config, wrong_entry, wrong_person
from bot.config.models import (
    ApprovalsConfig,
    Config,
    RuntimeConfig,
    ServerConfig,
    masked,
    schema,
    secrets_of,
)
from bot.config.watch import ConfigWatcher, Rejected, Reloaded

__all__ = [
    "AccessConfig",
    "AccessEntry",
    "AccessOverrides",
    "AccountConfig",
    "AppRule",
    "ApprovalsConfig",
    "CheckpointerConfig",
    "Config",
    "ConfigError",
    "ConfigErrors",
    "ConfigWarning",
    "ConfigWatcher",
    "DatabaseConfig",
    "LimitsConfig",
    "LoadedConfig",
    "LoggingConfig",
    "ModelEntry",
    "Rejected",
    "Reloaded",
    "RuntimeConfig",
    "Secret",
    "ServerConfig",
    "Url",
    "load_config",
    "masked",
    "schema",
    "secrets_of",
    "wrong_entry",
    "wrong_person",
]
