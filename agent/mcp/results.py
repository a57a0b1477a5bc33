"""Convert the results of MCP servers to content blocks of LangChain, also those that break the protocol.

Forms: `CallToolResult`, `ContentBlock` and `ResourceContents` of the specification 2025-06-18
(modelcontextprotocol/modelcontextprotocol, schema/2025-06-18/schema.ts). The call has been made, so whatever
came back is worth more to the model than an error about its form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agent.shared.json_text import one_line, to_json, to_short_json

WORD = 500
"""Characters of a name, an address or a description."""
Block = dict[str, Any]
_word = partial(one_line, limit=WORD)


def convert_result(result: Mapping[str, Any]) -> list[Block]:
    """Return the text, image and file blocks of the raw result of `tools/call`.

    Structured content is appended as JSON unless the text repeats it, as servers should.
    """
    content = result.get("content")
    if not isinstance(content, list):
        content = [] if content is None else [content]
    blocks = [convert_block(block) for block in content]
    structured = result.get("structuredContent", result.get("toolResult"))
    if structured is not None and not _repeats(content, structured):
        blocks.append(_text(to_json(structured)))
    return blocks


def convert_block(block: object) -> Block:
    """Return one content block of a result or of a prompt."""
    if not isinstance(block, Mapping):
        return _text(block if isinstance(block, str) else to_short_json(block))
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return _text(block["text"])
    if isinstance(block.get("data"), str):
        # Also of types that the protocol doesn't have, such as `blob` of server-filesystem.
        return _file("image" if kind == "image" else "file", block["data"], block.get("mimeType"))
    if kind == "resource" and isinstance(block.get("resource"), Mapping):
        return convert_resource(block["resource"])
    if kind == "resource_link":
        return _text(_describe_link(block))
    return _text(f"[Content in an unknown form: {to_short_json(block)}]")


def convert_resource(resource: Mapping[str, Any]) -> Block:
    """Return the content of a resource, text after its address."""
    address = _word(resource.get("uri"))
    if isinstance(resource.get("text"), str):
        return _text(f"[Resource {address}]\n{resource['text']}")
    if isinstance(resource.get("blob"), str):
        kind = "image" if _word(resource.get("mimeType")).startswith("image/") else "file"
        name = address.partition("?")[0].rstrip("/").rpartition("/")[2]
        return _file(kind, resource["blob"], resource.get("mimeType"), name)
    return _text(f"[Resource in an unknown form: {to_short_json(resource)}]")


def _describe_link(link: Mapping[str, Any]) -> str:
    name = _word(link.get("title")) or _word(link.get("name"))
    size = link.get("size")
    details = [_word(link.get("mimeType")), f"{size:,} bytes" if isinstance(size, int) else ""]
    about = ", ".join(filter(None, details))
    words = [name, _word(link.get("uri")), f"({about})" if about else "", _word(link.get("description"))]
    return f"[Link to a resource: {' '.join(filter(None, words))}]"


def _repeats(content: Sequence[Any], structured: Any) -> bool:
    """Return whether the content says the same as the structured content, or as its only value.

    FastMCP wraps what is no object in `result`, server-filesystem in `content`, also images.
    """
    wanted = [structured]
    if isinstance(structured, Mapping) and len(structured) == 1:
        wanted += structured.values()
    if content and list(content) in wanted:
        return True
    texts = [block["text"] for block in content if _is_text(block)]
    if not texts or len(texts) != len(content):
        return False
    values = [_parse(text) for text in texts]
    said = [values, texts, *([values[0], texts[0]] if len(texts) == 1 else [])]
    return any(one == value for one in said for value in wanted)


def _is_text(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _file(kind: str, data: str, mime_type: object, name: str = "") -> Block:
    return {"type": kind, "base64": data, "mime_type": _word(mime_type), **({"name": name} if name else {})}
