"""An MCP server whose tool returns every content type of the protocol, well-formed or not.

`python -m tests.harness.mcp_contents stdio|http [port]`. The results are sent as they are, since the types
of the package would refuse most of the bad ones. Forms: modelcontextprotocol/modelcontextprotocol,
schema/2025-06-18/schema.ts (CallToolResult, ContentBlock, ResourceContents).
"""

from __future__ import annotations

import base64
import random
import struct
import sys
import zlib
from typing import Any

from tests.harness.mcp_serving import make_server, serve

CHARACTERS = 70_000


def png(width: int = 2, height: int = 2, *, cut: int = 0) -> bytes:
    """A PNG image of one colour; `cut` bytes are missing at its end."""
    whole = _write_png(width, height, 0, b"".join(b"\0" + b"\x80" * width for _ in range(height)))
    return whole[: len(whole) - cut]


def noisy_png(width: int, height: int) -> bytes:
    """A PNG image that does not compress, as a photo."""
    noise = random.Random(1)
    return _write_png(width, height, 2, b"".join(b"\0" + noise.randbytes(width * 3) for _ in range(height)))


def _write_png(width: int, height: int, colours: int, rows: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def wav(samples: int = 100) -> bytes:
    """Silence."""
    data = b"\0\0" * samples
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8_000, 16_000, 2, 16)
    return (
        b"RIFF"
        + struct.pack("<I", 36 + len(data))
        + b"WAVE"
        + form
        + b"data"
        + struct.pack("<I", len(data))
        + data
    )


def coded(content: bytes) -> str:
    """Base64, as the protocol has it."""
    return base64.b64encode(content).decode()


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def image(data: str, kind: str = "image/png") -> dict[str, Any]:
    """An image block."""
    return {"type": "image", "data": data, "mimeType": kind}


def resource(**contents: Any) -> dict[str, Any]:
    """An embedded resource."""
    return {"type": "resource", "resource": contents}


def good() -> dict[str, dict[str, Any]]:
    """Results that keep to the protocol, by name."""
    report = {"type": "resource_link", "uri": "file:///srv/q3.pdf", "name": "q3.pdf"}
    return {
        "text": {"content": [text("plain words")]},
        "texts": {"content": [text("one"), text("two")]},
        "image": {"content": [text("A screenshot:"), image(coded(png()))]},
        "svg": {"content": [image(coded(b"<svg/>"), "image/svg+xml")]},
        "audio": {"content": [{"type": "audio", "data": coded(wav()), "mimeType": "audio/wav"}]},
        "text_resource": {
            "content": [resource(uri="file:///a.md", mimeType="text/markdown", text="# Title")]
        },
        "file_resource": {
            "content": [
                resource(uri="file:///a/b%20c.pdf", mimeType="application/pdf", blob=coded(b"%PDF-1"))
            ]
        },
        "image_resource": {
            "content": [resource(uri="shot://1/a.png?x=1", mimeType="image/png", blob=coded(png(3, 3)))]
        },
        "link": {
            "content": [
                {**report, "mimeType": "application/pdf", "size": 1234, "description": "The third quarter"}
            ]
        },
        "image_link": {"content": [{**report, "uri": "file:///x.png", "mimeType": "image/png"}]},
        "structured": {"content": [text('{"a": 1}')], "structuredContent": {"a": 1}},
        "structured_wrapped": {"content": [text("[a.txt]")], "structuredContent": {"content": "[a.txt]"}},
        "structured_image": {
            "content": [image(coded(png(11, 11)))],
            "structuredContent": {"content": [image(coded(png(11, 11)))]},
        },
        "structured_more": {"content": [text("One row.")], "structuredContent": {"rows": [{"id": "r-17"}]}},
        "structured_alone": {"content": [], "structuredContent": {"id": "r-18"}},
        "empty": {"content": []},
        "blank": {"content": [text("")]},
        "error": {"content": [text("no such row")], "isError": True},
        "error_image": {"content": [image(coded(png(4, 4)))], "isError": True},
        "error_empty": {"content": [], "isError": True},
        "long": {"content": [text("word " * (CHARACTERS // 5)), image(coded(png(5, 5)))]},
        "many": {"content": [image(coded(png(6, 6 + n))) for n in range(25)]},
        **oversized(),
    }


def oversized() -> dict[str, dict[str, Any]]:
    """Results that are larger than a model takes, by name."""
    document = resource(uri="file:///big.pdf", mimeType="application/pdf", blob=coded(b"%PDF-1" * 500_000))
    rows = [{"id": f"r-{number}"} for number in range(5_000)]
    return {
        "long_resource": {"content": [resource(uri="file:///log.txt", text="line\n" * (CHARACTERS // 5))]},
        "long_structured": {"content": [], "structuredContent": {"rows": rows}},
        "long_lines": {"content": [text("row ") for _ in range(CHARACTERS // 5)]},
        "large_audio": {
            "content": [{"type": "audio", "data": coded(wav(1_000_000)), "mimeType": "audio/wav"}]
        },
        "large_file": {"content": [document]},
    }


def bad() -> dict[str, dict[str, Any]]:
    """Results that break the protocol, or what providers take, by name."""
    return {
        "wrong_type": {"content": [image(coded(png(7, 7)), "image/jpg")]},
        "no_type": {"content": [{"type": "image", "data": coded(png(8, 8))}]},
        "data_url": {"content": [image(f"data:image/png;base64,{coded(png(9, 9))}")]},
        "no_base64": {"content": [image("not base64 at all!")]},
        "no_data": {"content": [{"type": "image", "mimeType": "image/png"}]},
        "cut": {"content": [image(coded(png(64, 64, cut=20)))]},
        "too_wide": {"content": [image(coded(png(9_000, 1)))]},
        "too_large": {"content": [image(coded(png(10, 10) + b"x" * 4_000_000))]},
        "audio_broken": {"content": [{"type": "audio", "data": "%%%", "mimeType": "audio/wav"}]},
        "resource_broken": {
            "content": [resource(uri="file:///a"), {"type": "resource"}, {"type": "resource_link"}]
        },
        "no_form": {"content": [{"type": "chart", "points": ["x" * 20_000]}]},
        "unknown": {"content": [{"type": "video", "data": "AAAA" * 5_000, "mimeType": "video/mp4"}]},
        "bare": {"content": ["just a string", 7, None]},
        "no_list": {"content": "not a list"},
        "nothing": {},
        "old_form": {"toolResult": {"id": "r-19"}},
        "nul": {"content": [text("a\0b")]},
        "structured_list": {"content": [], "structuredContent": ["a", "b"]},
        "typed": {"content": [text("as I like it")], "structuredContent": {"count": "many"}},
    }


def all_results() -> dict[str, dict[str, Any]]:
    """All of them."""
    return {**good(), **bad()}


TOOLS: list[dict[str, Any]] = [
    {
        "name": "give",
        "description": "Return a result of this kind.",
        "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]},
    },
    {
        "name": "typed",
        "inputSchema": {"type": "object"},
        "outputSchema": {
            "type": "object",
            "properties": {"count": {"type": "integer"}},
            "required": ["count"],
        },
    },
    {
        "name": "alternatives",
        "inputSchema": {
            "type": "object",
            "anyOf": [
                {"properties": {"url": {"type": "string"}}, "required": ["url"]},
                {"properties": {"id": {"type": "string"}}, "required": ["id"]},
            ],
        },
    },
    {
        "name": "arguments",
        "inputSchema": {
            "type": "object",
            "properties": {key: {} for key in ("config", "self", "runtime", "run_manager")},
        },
    },
    {"name": "no_schema"},
    {"name": "as_a_task", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
]


def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a call."""
    if name in {"arguments", "alternatives"}:
        return {"content": [text(" ".join(f"{key}={arguments[key]}" for key in sorted(arguments)))]}
    return all_results()[arguments.get("kind", name)]


if __name__ == "__main__":
    serve(make_server("contents", TOOLS, answer), sys.argv[1:])
