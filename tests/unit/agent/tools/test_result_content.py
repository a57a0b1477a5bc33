"""Whatever content a tool returns is read as text and files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.result_content import FILE_BYTES, FilePart, decode_base64, describe_content, read_parts

FILE = FilePart(b"\0\0\0", "image/png")
READ: list[tuple[Any, list[Any]]] = [
    ("words", ["words"]),
    (["one", {"type": "text", "text": "two"}], ["one", "two"]),
    ([{"type": "image", "base64": "AAAA", "mime_type": "image/png"}], [FILE]),
    ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}], [FILE]),
    ([{"type": "image_url", "image_url": "data:image/png;base64,AAAA"}], [FILE]),
    ([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}], [FILE]),
    ([{"type": "image", "source_type": "base64", "data": "AAAA", "mime_type": "image/png"}], [FILE]),
    (
        [{"type": "file", "file": {"file_data": "data:a/b;base64,AAAA", "filename": "c.d"}}],
        [FilePart(b"\0\0\0", "a/b", "c.d")],
    ),
    ([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}}], ["hi"]),
    ([{"type": "image", "url": "https://x/y.png"}], ["[image: https://x/y.png]"]),
    ([{"type": "file", "file": {"file_id": "file-1"}}], ["[file: file-1]"]),
    (
        [
            {
                "type": "search_result",
                "title": "T",
                "source": "https://x",
                "content": [{"type": "text", "text": "c"}],
            }
        ],
        ["T https://x", "c"],
    ),
    ([{"type": "json", "json": {"a": "x" * 3_000}}], [None]),
    ([None, 5, {"type": "image"}], ["null", "5", '{"type": "image"}']),
    ("a\0b\ud800", ["a\ufffdb?"]),
]


@pytest.mark.parametrize(("content", "expected"), READ)
def test_forms_of_langchain_openai_and_anthropic(content: Any, expected: list[Any]) -> None:
    parts = read_parts(content)
    if expected == [None]:
        assert "[… 1,000 characters are omitted]" in str(parts[0])
    else:
        assert parts == expected


@pytest.mark.parametrize(
    "text", ["-_-_", "+/+/", "+/\n+/", "data:x;base64,+/+/", " +/+/ ", "+/+/=="], ids=str.strip
)
def test_base64_as_tools_write_it(text: str) -> None:
    assert decode_base64(text) == b"\xfb\xff\xbf"


@pytest.mark.guard(
    "base64 of an MCP server is decoded strictly",
    "agent/tools/result_content.py",
    "(-len(packed) % 4), validate=True)",
    "(-len(packed) % 4))",
    against="malformed content",
)
def test_what_is_no_base64_is_named() -> None:
    assert decode_base64("AAAA AA") == b"\0\0\0\0"
    assert [decode_base64(text) for text in ("A", "ä", "%%%", "a.b")] == [None] * 4
    assert describe_content([{"type": "file", "base64": "", "name": "a.bin"}]) == (
        "[file a.bin: omitted, because it is empty (0 characters)]"
    )
    large = "A" * (FILE_BYTES * 4 // 3 + 2_000)
    assert "are more than 50,000,000]" in describe_content([{"type": "file", "base64": large}])


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["image", "text", "AAAA"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "source", "data", "base64", "url", "file", "image_url", "content"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(values)
def test_anything_is_read(content: Any) -> None:
    text = describe_content(content)
    assert "\0" not in text
    assert text.encode().decode() == text
