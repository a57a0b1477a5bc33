"""The command that installs a package for the very Python that runs, as a person can paste it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

_EXTRAS: Mapping[str, str] = {
    "langchain_openai": "openai",
    "langchain_anthropic": "anthropic",
    "langchain_ollama": "ollama",
    "xllamacpp": "local-model",
    "lxml": "web",
    "html_to_markdown": "web",
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
"""LangChain's own packages for providers; what they are called in the index follows from their names."""


def python_command(executable: str, folder: Path) -> str:
    """How the Python is called from the folder: by a relative path where it is below it, else by its name.

    The command is shown in chats, which are told no path of the host.
    """
    path = Path(executable or "python")
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name


_PYTHON = python_command(sys.executable, Path.cwd())


def install_command(requirement: str) -> str:
    """The command that installs a requirement for this Python."""
    return shlex.join([_PYTHON, "-m", "pip", "install", requirement])


def own_extra(extra: str) -> str:
    """The requirement that stands for an extra of this package."""
    return f"roebot[{extra}]"


def find_requirement(module: str) -> str | None:
    """What installs a top-level module; None for one that we don't know.

    A name alone says nothing about who has taken it in a package index, so none is ever guessed.
    """
    if extra := _EXTRAS.get(module):
        return own_extra(extra)
    return module.replace("_", "-") if module in _PROVIDERS else None
