"""Read `config.yaml`: the reader shared by bot and agent, and the sections of the agent."""

from agent.config.errors import ConfigError, ConfigErrors, ConfigWarning
from agent.config.harness import (
    GuardrailsConfig,
    ModelCallsConfig,
    SkillsConfig,
    SummarizationConfig,
    TitleConfig,
    ToolEntry,
    ToolGroup,
)
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
    "GuardrailsConfig",
    "LimitsConfig",
    "LoadedAgentConfig",
    "LoggingConfig",
    "ModelCallsConfig",
    "ModelEntry",
    "SkillsConfig",
    "SummarizationConfig",
    "TitleConfig",
    "ToolEntry",
    "ToolGroup",
    "load_agent_config",
]
