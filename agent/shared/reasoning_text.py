"""Removal of reasoning that a model writes into its answer, as tags or channels.

Servers without a parser for a model's format pass it on in the content: `<think>…</think>`, with an opening
tag that may be part of the prompt, `[THINK]…[/THINK]`, or Harmony's channels, such as
`<|channel|>analysis<|message|>`. A tag in code or in the middle of a line is text.
"""

from __future__ import annotations

import re

_NAMES = r"think|thinking|thoughts?|reasoning|antthinking|seed:think"
_OPEN = rf"<(?P<tag>{_NAMES})>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel>(?:thought|analysis)\b"
_CLOSE = rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<channel\|>"
_ANSWER = r"</?(?:final|final_answer)>|<\|(?:begin|end)_of_solution\|>"
_HARMONY = r"<\|(?P<mark>start|channel|message|end|return|call)\|>"
_MARK = re.compile(
    rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})|(?P<answer>{_ANSWER})|(?P<harmony>{_HARMONY})", re.IGNORECASE
)
_END = re.compile(_CLOSE, re.IGNORECASE)
_NEXT = re.compile(_HARMONY)
_LONGEST_MARK = 24
_LINE_CHARS = 64
"""Characters of a line that tell whether it is blank or a fence."""
_STARTS = "<[◁"
_FENCE = re.compile(r"[ \t>]{0,8}(`{3,}|~{3,})")
_BEFORE_QUOTED = frozenset(" \t\"'“‘«「（([{`")


class AnswerText:
    """Reads one answer piece by piece.

    With `opened`, the answer begins with reasoning; if that never ends, it was none (see `is_opened`).
    `lone_end` is the length of text that turned out to be reasoning without a beginning: it can't be taken
    back from a stream, so `feed` returns the tag too, and `strip_reasoning` of the whole removes both.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self._rest = ""
        self._hidden: list[str] | None = [] if opened else None
        self._closes = _END
        self._is_certain = False
        self._is_blank = True
        self._line, self._before, self._ticks = "", "", 0
        self._fence = ""
        self._answer_tags = self._harmony = False
        self._length = self.lone_end = 0
        self._opened, self.is_opened = opened, False

    def feed(self, piece: str, *, last: bool = False) -> str:
        """Return the visible text that has become certain."""
        self._rest += piece
        shown: list[str] = []
        while self._hide(last) if self._hidden is not None else self._show(shown, last):
            pass
        if last and self._hidden is not None and not self._is_certain:
            shown += [*self._hidden, self._rest]
        if last:
            self._hidden, self._rest = None, ""
        return "".join(shown)

    def _hide(self, last: bool) -> bool:
        """Skip reasoning; return whether it ended."""
        assert self._hidden is not None
        found = self._closes.search(self._rest)
        while found and self._rest[found.start() - 1 : found.start()] == "`":
            found = self._closes.search(self._rest, found.end())
        keep = found.end() if found else max(0, len(self._rest) - _LONGEST_MARK)
        self._hidden.append(self._rest[:keep])
        self._rest = self._rest[keep:]
        if found is None:
            return False
        self._hidden = None
        self.is_opened, self._opened = self.is_opened or self._opened, False
        if self._closes is _NEXT and found["mark"] in ("start", "channel"):
            self._rest = found[0] + self._rest
        self._line, self._ticks = "", 0
        return True

    def _show(self, shown: list[str], last: bool) -> bool:
        """Take visible text up to the next mark; return whether there is more to read."""
        if self._is_blank:
            self._rest = self._rest.lstrip()
        found = _MARK.search(self._rest)
        if found is None:
            self._take(self._find_certain(last), shown)
            return False
        self._take(found.start(), shown)
        if found["close"] and not self._is_code() and not self._is_quoted():
            self.lone_end = self._length + len(found[0])
        if self._is_mark(found):
            return self._enter(found, last)
        self._take(len(found[0]), shown)
        return True

    def _find_certain(self, last: bool) -> int:
        if last:
            return len(self._rest)
        tail = max(0, len(self._rest) - _LONGEST_MARK)
        starts = (self._rest.find(sign, tail) for sign in _STARTS)
        return min((at for at in starts if at >= 0), default=len(self._rest))

    def _take(self, count: int, shown: list[str]) -> None:
        text, self._rest = self._rest[:count], self._rest[count:]
        if not text:
            return
        shown.append(text)
        self._length += count
        self._is_blank, self._before = False, text[-1]
        *lines, last = text.split("\n")
        for line in lines:
            self._end_line((self._line + line)[:_LINE_CHARS])
        self._line = (self._line + last)[:_LINE_CHARS]
        self._ticks += last.count("`")

    def _end_line(self, line: str) -> None:
        fence = _FENCE.match(line)
        if fence and not self._fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence) and not line.strip(" \t>").strip(self._fence[0]):
            self._fence = ""
        self._line, self._ticks = "", 0

    def _is_code(self) -> bool:
        return bool(self._fence) or self._ticks % 2 == 1

    def _is_quoted(self) -> bool:
        """Return whether a mark stands in prose: behind a space or a quotation mark within a line."""
        return bool(self._line.strip()) and self._before in _BEFORE_QUOTED

    def _is_mark(self, found: re.Match[str]) -> bool:
        if self._is_code() or found["close"]:
            return False
        if found["answer"] and found[0].startswith(("</", "<|end")):
            return self._answer_tags
        if found["harmony"] and self._harmony:
            return True
        return not self._line.strip()

    def _enter(self, found: re.Match[str], last: bool) -> bool:
        if found["answer"]:
            self._answer_tags = True
        elif found["harmony"]:
            return self._read_channel(found, last)
        else:
            self._hidden, self._closes = [found[0]], _END
            self._is_certain = self._is_blank
        self._rest = self._rest[found.end() - found.start() :]
        return True

    def _read_channel(self, found: re.Match[str], last: bool) -> bool:
        """Read `<|start|>role<|channel|>name<|message|>`; what is not in the channel "final" is hidden."""
        self._harmony = True
        start = self._rest[len(found[0]) :]
        if found["mark"] not in ("start", "channel"):
            self._rest = start
            return True
        end = start.find("<|message|>")
        if end < 0 and not last:
            return False
        header, self._rest = (start, "") if end < 0 else (start[:end], start[end + len("<|message|>") :])
        name = header.rpartition("<|channel|>")[2].strip()
        is_plain = found["mark"] == "start" and "<|channel|>" not in header
        if not is_plain and not name.startswith("final"):
            self._hidden, self._closes, self._is_certain = [], _NEXT, True
        return True


def strip_reasoning(text: str) -> str:
    reader = AnswerText()
    answer = reader.feed(text, last=True)
    return answer[reader.lone_end :].lstrip() if reader.lone_end else answer
