"""Listing of a shell script's commands, including those in pipelines, subshells, substitutions, `sh -c` or
`xargs`.

It reads words as a shell does (quotes, escapes, comments, variables that the script itself sets), but runs
nothing, so it does not see what only a run would show: text that is decoded, downloaded or built by another
program.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

MAX_DEPTH = 8
MAX_CHARACTERS = 100_000
FORK_BOMB = "fork-bomb"
"""Name of the command that stands for a function that starts itself again and again."""
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_PREFIXES = frozenset(
    {
        *("sudo", "doas", "env", "nohup", "nice", "ionice", "setsid", "stdbuf", "time", "timeout", "exec"),
        *("command", "builtin", "busybox", "toybox", "chroot", "unshare", "xargs", "watch", "eval"),
        *("then", "do", "else", "elif", "if", "while", "until", "!", "{"),
    }
)
_PRINTERS = frozenset({"echo", "printf", "cat"})
_SUBSTITUTIONS = ("$(", "`")
_OPERATORS = (";;", "&&", "||", "|&", ";", "&", "|", "\n", "(", ")")
_REDIRECTION = re.compile(r"\d*(?:&>>|&>|>>|>\||>&|<&|<>|>|<)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_QUANTITY = re.compile(r"[\d.]+[smhd]?")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([\w.-]+)\1")
_FUNCTION = re.compile(r"\(\)\s{0,9}\{")
_NAME = re.compile(r"([^\s(){};|&]+)\s*$")
MAX_NAME, MAX_BODY, MAX_PARTS, MAX_PREFIXES = 64, 2_000, 100, 20


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command: its program without folders, and its arguments. A redirection is the program `<` or `>` with
    the file as its argument.
    """

    program: str
    arguments: tuple[str, ...] = ()


def list_commands(script: str) -> list[ShellCommand]:
    """Return a script's commands, including nested ones."""
    return list(_Reader(script[:MAX_CHARACTERS]).read())


@dataclass(slots=True)
class _Word:
    text: str = ""
    quoted: bool = False


@dataclass(slots=True)
class _Reader:
    """Reads a script; `depth` is its nesting level, `variables` are those set so far."""

    script: str
    depth: int = 0
    variables: dict[str, str] = field(default_factory=lambda: {"IFS": " "})
    _found: list[ShellCommand] = field(default_factory=list)
    _inner: list[str] = field(default_factory=list)
    _printed: str = ""

    def read(self) -> Iterator[ShellCommand]:
        """Yield the commands in order, followed by nested ones."""
        for name, body in _functions(self.script):
            if _starts_itself(name, body):
                self._found.append(ShellCommand(FORK_BOMB, (name,)))
        script, documents = _cut_documents(self.script)
        for words, piped in _split_commands(script, self._inner):
            self._add(words, documents, piped=piped)
        yield from self._found
        if self.depth < MAX_DEPTH:
            for inner in self._inner:
                yield from _Reader(inner, self.depth + 1, self.variables).read()

    def _add(self, words: Sequence[_Word], documents: Sequence[str], *, piped: bool) -> None:
        plain = self._take_redirections([word for one in words for word in self._expand(one)])
        given = self._printed if piped else ""
        self._printed = ""
        while plain and (assignment := _ASSIGNMENT.fullmatch(plain[0])):
            self.variables[assignment[1]] = assignment[2]
            plain = plain[1:]
        waiting = [plain] if plain else []
        for _ in range(MAX_PREFIXES):
            if not waiting:
                return
            name, *rest = waiting.pop()
            program = posixpath.basename(name)
            self._found.append(ShellCommand(program, tuple(rest)))
            if program in SHELLS:
                self._inner += [*_scripts_of_shell(rest), *documents, *([given] if given else [])]
            elif program in ("eval", "watch"):
                self._inner.append(" ".join(rest))
            elif program == "find":
                self._inner += _scripts_of_find(rest)
            elif program in _PRINTERS:
                self._printed = " ".join(rest)
            if program in _PREFIXES:
                waiting += _behind_prefix(rest, self.variables)

    def _expand(self, word: _Word) -> list[str]:
        text = _VARIABLE.sub(lambda found: self.variables.get(found[1] or found[2], found[0]), word.text)
        return text.split() if text != word.text and not word.quoted else [text]

    def _take_redirections(self, words: Sequence[str]) -> list[str]:
        kept: list[str] = []
        direction = ""
        for word in words:
            if direction:
                self._found.append(ShellCommand(direction, (word,)))
                direction = ""
            elif word.startswith("\0"):
                direction = "<" if "<" in word and ">" not in word else ">"
            else:
                kept.append(word)
        return kept


def _split_commands(script: str, inner: list[str]) -> Iterator[tuple[list[_Word], bool]]:
    """Yield each command's words, and whether a pipe feeds it; add substitutions to `inner`.

    A redirection is a word that begins with a NUL, which no script contains.
    """
    words: list[_Word] = []
    piped, at = False, 0
    script = script.replace("\0", "").replace("\\\n", "")
    while at < len(script):
        if script[at] == "#" and (at == 0 or script[at - 1] in " \t\n;"):
            at = _find(script, "\n", at)
        elif operator := next((one for one in _OPERATORS if script.startswith(one, at)), ""):
            if words:
                yield words, piped
            words, piped, at = [], operator in ("|", "|&"), at + len(operator)
        elif redirection := _REDIRECTION.match(script, at):
            words.append(_Word("\0" + redirection[0]))
            at = redirection.end()
        elif script[at] in " \t\r":
            at += 1
        else:
            word, at = _read_word(script, at, inner)
            words.append(word)
    if words:
        yield words, piped


def _read_word(script: str, at: int, inner: list[str]) -> tuple[_Word, int]:
    word = _Word()
    while at < len(script) and script[at] not in " \t\r\n;&|()<>":
        char = script[at]
        if char == "\\":
            word.text += script[at + 1 : at + 2]
            at += 2
        elif char == "'" or script.startswith("$'", at):
            start = at + 1 if char == "'" else at + 2
            end = _find(script, "'", start)
            word.text, word.quoted, at = word.text + script[start:end], True, end + 1
        elif char == '"':
            text, at = _read_quoted(script, at + 1, inner)
            word.text, word.quoted = word.text + text, True
        elif script.startswith(_SUBSTITUTIONS, at):
            at = _cut_substitution(script, at, inner)
        else:
            word.text += char
            at += 1
    return word, max(at, 1)


def _read_quoted(script: str, at: int, inner: list[str]) -> tuple[str, int]:
    text = ""
    while at < len(script) and script[at] != '"':
        if script[at] == "\\":
            text += script[at + 1 : at + 2]
            at += 2
        elif script.startswith(_SUBSTITUTIONS, at):
            at = _cut_substitution(script, at, inner)
        else:
            text += script[at]
            at += 1
    return text, at + 1


def _cut_substitution(script: str, at: int, inner: list[str]) -> int:
    """Add the script of the substitution that starts here to `inner`, and return the position after it."""
    start = at + 1 if script[at] == "`" else at + 2
    end = _find(script, "`", start) if script[at] == "`" else _closing(script, at + 1)
    inner.append(script[start:end])
    return end + 1


def _find(script: str, text: str, start: int) -> int:
    found = script.find(text, start)
    return len(script) if found < 0 else found


def _closing(script: str, at: int) -> int:
    """Return the position of the parenthesis that closes the one at `at`."""
    depth = 0
    for place in range(at, len(script)):
        depth += {"(": 1, ")": -1}.get(script[place], 0)
        if depth == 0:
            return place
    return len(script)


def _cut_documents(script: str) -> tuple[str, list[str]]:
    """Remove here-documents and here-strings from a script."""
    documents: list[str] = []
    while len(documents) < MAX_PARTS and (found := _HEREDOC.search(script)):
        line_end = _find(script, "\n", found.end())
        end = re.compile(rf"^\t*{re.escape(found[2])}$", re.MULTILINE).search(script, line_end + 1)
        stop = end.start() if end else len(script)
        documents.append(script[line_end + 1 : stop])
        rest = script[end.end() if end else len(script) :]
        script = script[: found.start()] + script[found.end() : line_end] + rest
    for text in re.findall(r"<<<\s*(?:'([^']*)'|\"([^\"]*)\"|(\S+))", script):
        documents += [one for one in text if one]
    return script.replace("<<<", " "), documents


def _scripts_of_shell(arguments: Sequence[str]) -> list[str]:
    """Return the script of `sh -c SCRIPT`, including joined options such as `-lc`."""
    for number, argument in enumerate(arguments[:-1]):
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", argument):
            return [arguments[number + 1]]
    return []


def _scripts_of_find(arguments: Sequence[str]) -> list[str]:
    found: list[str] = []
    command: list[str] = []
    running = False
    for argument in arguments:
        if argument in ("-exec", "-execdir", "-ok", "-okdir"):
            running, command = True, []
        elif running and argument in (";", "+"):
            found.append(shlex.join(command))
            running = False
        elif running:
            command.append(argument)
    return [*found, *([shlex.join(command)] if running else [])]


def _behind_prefix(words: Sequence[str], variables: dict[str, str]) -> list[list[str]]:
    """Return possible commands after `sudo -u x`, `env A=b`, `timeout 5` and the like.

    A word that follows an option is either its value or the command.
    """
    found: list[list[str]] = []
    before = ""
    for number, word in enumerate(words[:MAX_PARTS]):
        if assignment := _ASSIGNMENT.fullmatch(word):
            variables[assignment[1]] = assignment[2]
        elif not word.startswith("-") and not _QUANTITY.fullmatch(word):
            found.append(list(words[number:]))
            if not before.startswith("-"):
                break
        before = word
    return found


def _functions(script: str) -> Iterator[tuple[str, str]]:
    for found in islice(_FUNCTION.finditer(script), MAX_PARTS):
        named = _NAME.search(script[max(0, found.start() - MAX_NAME) : found.start()])
        body = script[found.end() : found.end() + MAX_BODY].partition("}")[0]
        if named:
            yield named[1], body


def _starts_itself(name: str, body: str) -> bool:
    """Return whether a function starts itself in the background or twice in a pipeline."""
    own = rf"(?<![\w:.]){re.escape(name)}(?![\w:.])"
    return bool(re.search(rf"{own}\s*\|\s*{own}|{own}\s*&(?!&)", body))
