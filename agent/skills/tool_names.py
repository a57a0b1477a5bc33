"""Tools listed in a skill, translated from the names that other agents use for the same tools.

`allowed-tools` is text or a list (https://agentskills.io/specification); skills in circulation separate the
names by spaces or commas, and limit some of them to a pattern: `Read`, `Bash(git add *)`,
`mcp__github__search`.

A name that no agent is known to use stays: it can be that of a configured tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

MAX_TOOLS = 100
MAX_TOOL = 200
"""Maximum length of a tool's name with its pattern."""
_SHOWN = 40
_PAIRS = {"(": ")", "[": "]", "{": "}"}

_BY_HOST: Mapping[str, tuple[str, ...]] = {
    "read_file": ("Read", "NotebookRead", "read_many_files", "ReadFile"),
    "write_file": ("Write", "WriteFile", "create_file"),
    "str_replace": ("Edit", "MultiEdit", "replace", "EditFile", "apply_patch"),
    "bash": ("Bash", "BashOutput", "Shell", "Terminal", "run_shell_command", "execute_bash", "Grep", "exec"),
    "ls": ("LS", "Glob", "list_directory", "list_dir"),
    "web_search": ("WebSearch", "google_web_search"),
    "web_fetch": ("WebFetch", "FetchURL"),
    "task": ("Task", "Agent"),
    "write_todos": (
        "TodoWrite",
        "TodoRead",
        "TaskCreate",
        "TaskUpdate",
        "TaskList",
        "TaskGet",
        "update_plan",
    ),
    "ask_clarification": ("AskUserQuestion", "ask_user"),
}
_WITHOUT_COUNTERPART = (
    *(
        "NotebookEdit",
        "KillShell",
        "KillBash",
        "TaskOutput",
        "TaskStop",
        "Skill",
        "SlashCommand",
        "ToolSearch",
    ),
    *("EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree", "LSP", "Monitor", "SendMessage"),
    *("TeamCreate", "TeamDelete", "ListMcpResourcesTool", "ReadMcpResourceTool", "CronCreate", "CronDelete"),
)
OUR_NAMES: Mapping[str, str] = MappingProxyType(
    {theirs.casefold(): ours for ours, names in _BY_HOST.items() for theirs in names}
)
"""Our tools by the names (in lower case) that Claude Code, Codex, Gemini CLI, Cursor and OpenHands use."""
UNAVAILABLE = frozenset(name.casefold() for name in _WITHOUT_COUNTERPART)


@dataclass(frozen=True, slots=True)
class NamedTools:
    """The tools under this agent's names; the `renamed` ones, those without a counterpart, and invalid ones.

    A name that no other agent is known to use stays, because it may be one of a configured tool.
    """

    tools: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    unavailable: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def read_tools(value: object) -> NamedTools | None:
    """Parse the key `allowed-tools`, or return None if it is neither text nor a list."""
    if isinstance(value, str):
        words = list(_split_names(value))
    elif isinstance(value, list):
        words = [
            word for item in value for word in (_split_names(item) if isinstance(item, str) else [f"{item}"])
        ]
        words = [word for word in words if word]
    else:
        return None
    return _translate_names(words[:MAX_TOOLS])


def _translate_names(words: list[str]) -> NamedTools:
    tools: dict[str, None] = {}
    renamed: dict[str, str] = {}
    unavailable: dict[str, None] = {}
    unreadable: dict[str, None] = {}
    for word in words:
        name, pattern = _split_pattern(word)
        if not _is_name(name) or len(word) > MAX_TOOL:
            unreadable[word[:_SHOWN]] = None
        elif name.casefold() in UNAVAILABLE:
            unavailable[name] = None
        else:
            ours = _translate_name(name)
            tools[ours + pattern] = None
            if ours != name:
                renamed[name] = ours
    return NamedTools(tuple(tools), tuple(renamed.items()), tuple(unavailable), tuple(unreadable))


def _translate_name(name: str) -> str:
    """Return this agent's name for a tool. An MCP server's is `server_tool` here, `mcp__server__tool`
    elsewhere.
    """
    if name.startswith("mcp__"):
        return "_".join(part for part in name.removeprefix("mcp__").split("__") if part) or name
    return OUR_NAMES.get(name.casefold(), name)


def _is_name(name: str) -> bool:
    return name[:1].isalpha() and all(sign.isalnum() or sign in "_.:*/-" for sign in name)


def _split_pattern(word: str) -> tuple[str, str]:
    """Split `Bash(git *)` into `Bash` and `(git *)`."""
    name, opening, rest = word.partition("(")
    return (name.rstrip(), opening + rest) if word.endswith(")") else (word, "")


def _split_names(text: str) -> Iterator[str]:
    """Split at spaces and commas outside brackets."""
    word: list[str] = []
    closing: list[str] = []
    for sign in text.strip().strip("[]" if text.strip().startswith("[") else ""):
        if closing and sign == closing[-1]:
            closing.pop()
        elif sign in _PAIRS:
            closing.append(_PAIRS[sign])
        if not closing and (sign.isspace() or sign == ","):
            yield from _finish_word(word)
            word = []
        else:
            word.append(sign)
    yield from _finish_word(word)


def _finish_word(signs: list[str]) -> Iterator[str]:
    word = "".join(signs).strip("\"'")
    if word:
        yield word
