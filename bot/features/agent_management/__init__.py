"""Agent management in chats and in the API: skills, MCP servers, memory, models, custom agents."""

from bot.access import Permission
from bot.commands.registry import Command
from bot.feature import Feature
from bot.features.agent_management import conversation_choices, mcp_sign_in, runtime_proxy
from bot.features.agent_management.agents import agent
from bot.features.agent_management.compact import compact
from bot.features.agent_management.mcp_servers import mcp
from bot.features.agent_management.memory import memory
from bot.features.agent_management.models import model, models
from bot.features.agent_management.requested_skills import RequestedSkills
from bot.features.agent_management.skill_changes import is_skill_argument
from bot.features.agent_management.skills import SkillCommands, skill, skills
from bot.features.agent_management.texts import CHINESE, ENGLISH

COMMANDS = (
    Command(
        "compact",
        compact,
        argument="[TEXT]",
        audited="name",
        changes_bare=True,
        slow=True,
    ),
    Command("models", models),
    Command("model", model, argument="[NAME]", most_words=1, audited="words"),
    Command("agent", agent, argument="[NAME]", most_words=1, audited="words"),
    Command(
        "memory",
        memory,
        argument="[forget/export] [FACT]",
        most_words=2,
        private=True,
        public=("forget",),
    ),
    Command("skills", skills),
    Command(
        "skill",
        skill,
        argument="NAME [on/off/update/remove/history/restore]",
        permission=Permission.INSPECT,
        matches_word=is_skill_argument,
        slow=True,
    ),
    Command("mcp", mcp, argument="[NAME] [on/off]", most_words=2, permission=Permission.INSPECT),
)
FEATURE = Feature(
    "agent_management",
    parts=(lambda _core: SkillCommands(),),
    commands=COMMANDS,
    routers=(mcp_sign_in.router, conversation_choices.router, runtime_proxy.router),
    run_hooks=RequestedSkills,
    texts={"en": ENGLISH, "zh": CHINESE},
)
