"""What a client puts into a prompt, as a message and files of the agent's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

MAX_RESOURCE_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The text of a message, and the files of the client's folder that it brings."""

    text: str
    files: tuple[Path, ...] = ()


def read_prompt(blocks: Sequence[Any], folder: Path) -> PromptContent:
    """What the blocks of a prompt say. Blocking.

    A link to a file in the session's folder brings that file; other links are named. Pictures and sound are
    not offered by us, so that a client does not send any.
    """
    texts: list[str] = []
    files: list[Path] = []
    for block in blocks:
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "resource_link":
            path = _resolve_file(block.uri, folder)
            if path is not None:
                files.append(path)
            else:
                texts.append(f"[{block.name}]({block.uri})")
        elif block.type == "resource" and getattr(block.resource, "text", None) is not None:
            texts.append(_quote_resource(block.resource))
        else:
            texts.append(f"[{block.type} that can't be shown]")
    return PromptContent("\n\n".join(text for text in texts if text.strip()), tuple(dict.fromkeys(files)))


def _quote_resource(resource: Any) -> str:
    name = resource.uri.rstrip("/").rpartition("/")[2].replace('"', "")
    text = resource.text[:MAX_RESOURCE_CHARACTERS].replace("</file>", "<\\/file>")
    return f'<file name="{name}">\n{text}\n</file>'


def _resolve_file(uri: str, folder: Path) -> Path | None:
    """The file that an address names, where it is one below the folder."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None
    path = Path(unquote(parts.path)).resolve()
    return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
