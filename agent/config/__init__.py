"""Reading `config.yaml`: the reader that both halves share, and the sections of the agent's half."""

from agent.config.errors import ConfigError, ConfigErrors, ConfigWarning
from agent.config.loader import LoadedAgentConfig, load_agent_config
from agent.config.models import (
    CONFIG_VERSION,
    AgentConfig,
    CheckpointerConfig,
    LimitsConfig,
    LoggingConfig,
    ModelEntry,
)

__all__ = [
    "CONFIG_VERSION",
    "AgentConfig",
    "CheckpointerConfig",
    "ConfigError",
    "ConfigErrors",
    "ConfigWarning",
    "LimitsConfig",
    "LoadedAgentConfig",
    "LoggingConfig",
    "ModelEntry",
    "load_agent_config",
]
