"""Text files keep their encoding when the model reads and changes them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.interfaces import SandboxError
from agent.shared.recent_items import RecentItems
from agent.tools import text_files
from agent.tools.sandbox import READ_CHARACTERS, read_file, str_replace, use_sandbox, write_file
from roebot_testing.agent.sandbox import MemorySandboxProvider

SUBTITLES = "1\r\n00:00:01,000 --> 00:00:02,000\r\nHello\r\n"


class Files:
    """A sandbox, and its tools."""

    def __init__(self, sandbox: Any) -> None:
        self.sandbox = sandbox

    async def use(self, tool: Any, **arguments: Any) -> str:
        with use_sandbox(self.sandbox):
            return str(await tool.ainvoke(arguments))


@pytest.fixture
async def files() -> Files:
    provider = MemorySandboxProvider()
    return Files(provider.get(await provider.acquire("t")))


@pytest.mark.parametrize(
    ("codec", "before", "old", "new", "name"),
    [
        ("gbk", "# 数据库配置\nhost = 本地主机\n名称 = 测试\n", "测试", "生产", "GBK"),
        ("gb18030", "名称：𠮷测试\n", "测试", "😀", "GB18030"),
        ("big5", "# 資料庫設定\n名稱 = 測試\n", "測試", "正式", "Big5"),
        ("cp932", "# データベース設定\n名前 = テスト\n", "テスト", "本番", "Shift-JIS"),
        ("euc-jp", "# データベース設定\n名前 = テスト\n", "テスト", "本番", "EUC-JP"),
        ("euc-kr", "# 데이터베이스 설정\n이름 = 시험\n", "시험", "운영", "EUC-KR"),
        ("cp1251", "имя;сумма\nИванов;100\n", "Иванов", "Петров", "Windows-1251"),
        ("koi8-r", "имя;сумма\nИванов;100\n", "Иванов", "Петров", "KOI8-R"),
        ("cp1252", "Müller;1 €\r\nnaïve café\r\n", "café", "thé – déjà", "Windows-1252"),
        ("cp1250", "zażółć gęślą jaźń\n", "jaźń", "świat", "Windows-1250"),
        ("utf-16", SUBTITLES, "Hello", "你好", "UTF-16"),
        ("utf-16-le", SUBTITLES, "Hello", "Bye", "UTF-16"),
        ("utf-8-sig", "a;ü\r\n", "ü", "é", ""),
        ("utf-8", "a ü\n", "ü", "你", ""),
    ],
)
async def test_a_change_keeps_the_encoding(
    files: Files, codec: str, before: str, old: str, new: str, name: str
) -> None:
    await files.sandbox.write_file("f", before.encode(codec))
    shown = await files.use(read_file, path="f")
    assert shown == (f"{before}\n[encoding: {name}]" if name else before)
    assert await files.use(str_replace, path="f", old_str=old, new_str=new) == "Replaced 1 occurrence in f."
    assert await files.sandbox.read_file("f") == before.replace(old, new).encode(codec)
    await files.use(write_file, path="f", content=old, append=True)
    assert await files.sandbox.read_file("f") == (before.replace(old, new) + old).encode(codec)
    await files.use(write_file, path="f", content=before)
    assert await files.sandbox.read_file("f") == before.encode(codec)


async def test_a_file_that_was_read_is_changed_without_another_detection(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "_detected", RecentItems(2))
    contents = [f"名称 = 测试 {number}\n".encode("gbk") for number in range(3)]
    for content in contents:
        await files.sandbox.write_file("f", content)
        await files.use(read_file, path="f")
    monkeypatch.setattr(text_files, "MODULE", "no_such_module")
    await files.use(str_replace, path="f", old_str="测试", new_str="生产")
    assert await files.sandbox.read_file("f") == "名称 = 生产 2\n".encode("gbk")
    await files.sandbox.write_file("f", contents[0])
    with pytest.raises(SandboxError, match="could not be detected"):
        await files.use(read_file, path="f")


@pytest.mark.parametrize(
    ("codec", "text"), [("gbk", "名称 = 测试\n"), ("cp1252", "Müller und Söhne\n"), ("big5", "名稱 = 測試\n")]
)
async def test_a_character_that_the_encoding_lacks_is_refused(files: Files, codec: str, text: str) -> None:
    await files.sandbox.write_file("f", text.encode(codec))
    for tool, arguments in (
        (str_replace, {"old_str": "\n", "new_str": "😀\n"}),
        (write_file, {"content": "ab😀"}),
        (write_file, {"content": "ab😀", "append": True}),
    ):
        with pytest.raises(SandboxError, match="has no character '😀'; nothing was written"):
            await files.use(tool, path="f", **arguments)
    assert await files.sandbox.read_file("f") == text.encode(codec)


@pytest.mark.parametrize("damaged", ["日志测试".encode() * 20 + b"\xe6", b"\x80\x81\xff"])
async def test_damaged_bytes_stay(files: Files, damaged: bytes) -> None:
    await files.sandbox.write_file("f", b"key = 1\n" + damaged)
    await files.use(str_replace, path="f", old_str="key = 1", new_str="key = 2")
    assert await files.sandbox.read_file("f") == b"key = 2\n" + damaged


@pytest.mark.parametrize("content", [b"\x89PNG\x00\x00\x00\rIHDR", bytes(range(256)) * 9, b"\x00" * 99])
async def test_binary_files_are_refused(files: Files, content: bytes) -> None:
    await files.sandbox.write_file("f", content)
    with pytest.raises(SandboxError, match="not a text file"):
        await files.use(read_file, path="f")
    await files.use(write_file, path="f", content="text")
    assert await files.sandbox.read_file("f") == b"text"


@pytest.mark.parametrize(
    "text", ["x" * 300_000, "ab\n" + "你" * 40_000 + "\nlast\n", "y" * READ_CHARACTERS + "z"]
)
async def test_a_long_line_is_read_in_parts(files: Files, text: str) -> None:
    await files.sandbox.write_file("f", text.encode())
    read, arguments = "", {"offset": 1, "skip_characters": 0}
    for _ in range(30):
        shown = await files.use(read_file, path="f", **arguments)
        part, _, note = shown.rpartition("\n[") if "\n[" in shown else (shown, "", "")
        read += part
        if "continue with" not in note:
            break
        pairs = (pair.split("=") for pair in note.rpartition("continue with ")[2].rstrip("]").split(", "))
        arguments = {"skip_characters": 0, **{name: int(number) for name, number in pairs}}
    assert read == text
    first = await files.use(read_file, path="f")
    assert "continue with offset=" in first.splitlines()[-1]
    assert len(first) < READ_CHARACTERS + 200
