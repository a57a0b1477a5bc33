"""In-place edits of YAML text: rename keys and add entries without changing any other byte.

Dumping the parsed file would fold lines, change quotes and indentation, and rewrite `null`. So the parser
only provides positions, and the text is edited there. Each function takes the whole text and returns the new
one.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import indent
from typing import Any

import yaml

from agent.config.document import SwitchWord, compose_nodes, parse_document
from agent.config.errors import ConfigErrors, KeyPath, format_key, one_error

Entry = tuple[yaml.Node, yaml.Node]
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def root_mapping(text: str, file: str) -> yaml.MappingNode | None:
    """Return the top-level mapping, or None for an empty text. Raises ConfigErrors."""
    node = compose_nodes(text, file)
    return node if isinstance(node, yaml.MappingNode) else None


def find_entry(mapping: yaml.MappingNode, path: KeyPath) -> Entry | None:
    """Return the (key, value) nodes at the path, including merged ones; of an item, it is both."""
    found: Entry | None = None
    node: yaml.Node = mapping
    for part in path:
        entries: Iterable[Entry] = ()
        if isinstance(node, yaml.MappingNode) and isinstance(part, str):
            entries = (entry for entry in _iterate_entries(node) if entry[0].value == part)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            entries = ((item, item) for item in node.value[part : part + 1])
        found = next(iter(entries), None)
        if found is None:
            return None
        node = found[1]
    return found


def rename_key(text: str, entry: Entry, name: str) -> str:
    start, end = _node_span(entry[0])
    return text[:start] + name + text[end:]


def replace_value(text: str, entry: Entry, value: str) -> str:
    """Replace the entry's value with another scalar."""
    start, end = _node_span(entry[1])
    gap = "" if text[start - 1 : start].isspace() or not value else " "
    return text[:start] + gap + value + text[end:]


def insert_first(text: str, mapping: yaml.MappingNode, line: str) -> str:
    if mapping.flow_style or not mapping.value:
        return add_entries(text, mapping, [line])
    mark: yaml.Mark = mapping.value[0][0].start_mark
    return text[: mark.index] + line + detect_newline(text) + " " * mark.column + text[mark.index :]


def add_entries(text: str, mapping: yaml.MappingNode, lines: Sequence[str]) -> str:
    """Append entries (`key: value`, in block style optionally with a comment) to the mapping."""
    if mapping.flow_style:
        start = text.index("{", mapping.start_mark.index) + 1
        plain = ", ".join(line.partition(" #")[0] for line in lines)
        return text[:start] + plain + (", " if mapping.value else "") + text[start:]
    column = mapping.value[0][0].start_mark.column
    position = _skip_comments(text, _position_after(text, mapping), column)
    return _insert_lines(text, position, [" " * column + line for line in lines])


def add_item(text: str, sequence: yaml.SequenceNode, item: str) -> str:
    """Append an item to the sequence, or insert it first if the last item is an alias in flow style."""
    if sequence.flow_style:
        start = text.index("[", sequence.start_mark.index) + 1
        last = sequence.value[-1] if sequence.value else None
        if last is not None and last.start_mark.index >= start:
            end = last.end_mark.index
            return f"{text[:end]}, {item}{text[end:]}"
        return text[:start] + item + (", " if sequence.value else "") + text[start:]
    dash = _find_dash(text, sequence)
    column = dash - (text.rfind("\n", 0, dash) + 1)
    position = _skip_comments(text, _position_after(text, sequence), column)
    return _insert_lines(text, position, [" " * column + f"- {item}"])


def add_children(text: str, entry: Entry, lines: Sequence[str]) -> str:
    """Add entries below a key that has no value yet."""
    key, value = entry
    column = key.start_mark.column
    text = replace_value(text, entry, "") if value.value else text
    position = _skip_comments(text, _next_line(text, key.end_mark.index), column + 1)
    return _insert_lines(text, position, [" " * (column + 2) + line for line in lines])


def add_paragraphs(text: str, mapping: yaml.MappingNode | None, paragraphs: Sequence[str]) -> str:
    """Append paragraphs of top-level entries, each after a blank line."""
    column = mapping.value[0][0].start_mark.column if mapping else 0
    position = _skip_comments(text, _position_after(text, mapping), column) if mapping else len(text)
    indented = (indent(paragraph, " " * column) for paragraph in paragraphs)
    lines = [line for paragraph in indented for line in ("", *paragraph.splitlines())]
    if not text[:position].strip():
        lines = lines[1:]
    return _insert_lines(text, position, lines)


def set_value(text: str, file: str, path: KeyPath, value: Any) -> str:
    """Set the value of a key to plain data, and create what encloses it. A list is changed item by item.

    Raises ConfigErrors if that would change anything else, such as the other uses of an alias.
    """
    expected = copy.deepcopy(parse_document(text, file).data)
    inner: Any = expected
    for part in path[:-1]:
        if isinstance(inner, dict) and not isinstance(inner.get(part), dict | list):
            inner[part] = {}
        inner = inner[part]
    inner[path[-1]] = value
    edits = (lambda: _set_items(text, file, path, value), lambda: _set_node(text, file, path, value))
    return _first_exact(text, file, path, expected, *edits)


def remove_value(text: str, file: str, path: KeyPath) -> str:
    """Remove a key, or the item of a list, with its lines. Raises ConfigErrors like `set_value`."""
    expected = copy.deepcopy(parse_document(text, file).data)
    inner = _value_at(expected, path[:-1])
    del inner[path[-1]]
    edits = (lambda: _cut_child(text, file, path), lambda: _set_parent(text, file, path, inner))
    return _first_exact(text, file, path, expected, *edits)


def move_first(text: str, file: str, path: KeyPath, index: int) -> str:
    """Move an item of a list to its beginning. Raises ConfigErrors like `set_value`."""
    expected = copy.deepcopy(parse_document(text, file).data)
    inner = _value_at(expected, path)
    inner.insert(0, inner.pop(index))
    moved = (*path, index)
    edits = (lambda: _move_lines(text, file, moved), lambda: _set_parent(text, file, moved, inner))
    return _first_exact(text, file, moved, expected, *edits)


def to_flow(value: Any) -> str:
    """Format plain data on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow_key(key)}: {to_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_flow, value)) + "]"
    return str(value) if isinstance(value, SwitchWord) else json.dumps(value, ensure_ascii=False)


def _flow_key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _first_exact(
    text: str, file: str, path: KeyPath, expected: dict[str, Any], *edits: Callable[[], str]
) -> str:
    """Return the first edited text that has exactly the expected data."""
    for edit in edits:
        try:
            edited = edit()
            if parse_document(edited, file).data == expected:
                return edited
        except (ConfigErrors, _NotEdited):
            continue
    line = parse_document(text, file).line_of(path)
    message = "can't be changed without changing other parts of the file; change it in an editor"
    raise one_error(file, message, line=line, key=format_key(path))


class _NotEdited(Exception):
    """This kind of edit does not apply."""


def _find_node(text: str, file: str, path: KeyPath) -> yaml.Node | None:
    root = root_mapping(text, file)
    entry = find_entry(root, path) if root is not None else None
    return entry[1] if entry else None


def _set_items(text: str, file: str, path: KeyPath, value: Any) -> str:
    """Remove items of a list in block style, and append others to one in any style."""
    if not isinstance(value, list) or not isinstance(_find_node(text, file, path), yaml.SequenceNode):
        raise _NotEdited
    old = _value_at(parse_document(text, file).data, path)
    removed = [index for index, item in enumerate(old) if item not in value]
    for index in reversed(removed):
        text = _cut_child(text, file, (*path, index))
    for item in value[len(old) - len(removed) :]:
        node = _find_node(text, file, path)
        assert isinstance(node, yaml.SequenceNode)
        text = add_item(text, node, to_flow(item))
    return text


def _value_at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _set_node(text: str, file: str, path: KeyPath, value: Any) -> str:
    root = root_mapping(text, file)
    depth = next((n for n in range(len(path), 0, -1) if root and find_entry(root, path[:n])), 0)
    entry = find_entry(root, path[:depth]) if root is not None and depth else None
    if entry is not None and depth == len(path):
        return _replace_node(text, entry, to_flow(value))
    lines = _nested_lines(path[depth:], value)
    if entry is None:
        return add_paragraphs(text, root, ["\n".join(lines)])
    if not isinstance(entry[1], yaml.MappingNode) or not (entry[1].value or entry[1].flow_style):
        return add_children(text, entry, lines)
    if entry[1].flow_style:
        for part in reversed(path[depth + 1 :]):
            value = {part: value}
        lines = _nested_lines(path[depth : depth + 1], value)
    return add_entries(text, entry[1], lines)


def _nested_lines(path: KeyPath, value: Any) -> list[str]:
    """Return a value within the keys of a path, in block style."""
    key = _flow_key(str(path[0]))
    if len(path) == 1:
        return [f"{key}: {to_flow(value)}"]
    return [f"{key}:", *(f"  {line}" for line in _nested_lines(path[1:], value))]


def _replace_node(text: str, entry: Entry, value: str) -> str:
    """Replace a value of any kind."""
    key, node = entry
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value
    if not is_block and getattr(node, "style", None) not in {"|", ">"}:
        return replace_value(text, entry, value)
    start = text.index(":", key.end_mark.index) + 1
    return f"{text[:start]} {value}{detect_newline(text)}{text[_position_after(text, node) :]}"


def _child_span(text: str, file: str, path: KeyPath) -> tuple[int, int]:
    """Return the lines of a key or item in block style, which is not the only one."""
    parent = _find_node(text, file, path[:-1])
    if not isinstance(parent, yaml.CollectionNode) or parent.flow_style or len(parent.value) < 2:
        raise _NotEdited
    if isinstance(parent, yaml.SequenceNode):
        item = parent.value[int(path[-1])]
        start = text.rindex("-", 0, item.start_mark.index)
    else:
        key, item = next((entry for entry in parent.value if entry[0].value == path[-1]), (None, None))
        if key is None or item is None:
            raise _NotEdited
        start = key.start_mark.index
    start = text.rfind("\n", 0, start) + 1
    return start, _position_after(text, item)


def _cut_child(text: str, file: str, path: KeyPath) -> str:
    start, end = _child_span(text, file, path)
    return text[:start] + text[end:]


def _move_lines(text: str, file: str, path: KeyPath) -> str:
    first, _ = _child_span(text, file, (*path[:-1], 0))
    start, end = _child_span(text, file, path)
    newline = "" if text[:end].endswith("\n") else detect_newline(text)
    return text[:first] + text[start:end] + newline + text[first:start] + text[end:]


def _set_parent(text: str, file: str, path: KeyPath, value: Any) -> str:
    """Write what encloses a key or item anew, on one line."""
    root = root_mapping(text, file)
    entry = find_entry(root, path[:-1]) if root is not None else None
    if entry is None:
        raise _NotEdited
    return _replace_node(text, entry, to_flow(value))


def detect_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _node_span(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.index, node.end_mark.index


def _find_dash(text: str, sequence: yaml.SequenceNode) -> int:
    """Return the position of the first dash, which an anchor or a tag may precede."""
    start = sequence.start_mark.index
    return start if text[start] == "-" else text.index("-", text.index("\n", start))


def _iterate_entries(mapping: yaml.MappingNode) -> Iterator[Entry]:
    """Yield the entries of the mapping, then merged ones."""
    merged: list[yaml.Node] = []
    for key, value in mapping.value:
        if key.tag.endswith(":merge"):
            merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
        else:
            yield key, value
    for part in merged:
        if isinstance(part, yaml.MappingNode):
            yield from _iterate_entries(part)


def _position_after(text: str, node: yaml.Node) -> int:
    """Return the start of the line after the last line of the node."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        key, value = last if isinstance(last, tuple) else (None, last)
        # The value of an alias is located elsewhere, before its key.
        if key is not None and value.start_mark.index < key.start_mark.index:
            return _next_line(text, key.end_mark.index)
        return _position_after(text, value)
    if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
        return node.end_mark.index
    return _next_line(text, node.end_mark.index)


def _next_line(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _skip_comments(text: str, position: int, column: int) -> int:
    """Return the position after subsequent comments that are indented by at least `column`."""
    end = position
    while position < len(text):
        line = text[position : _next_line(text, position)]
        bare = line.strip()
        if bare and not (bare.startswith("#") and len(line) - len(line.lstrip()) >= column):
            break
        position += len(line)
        if bare:
            end = position
    return end


def _insert_lines(text: str, position: int, lines: Sequence[str]) -> str:
    newline = detect_newline(text)
    before, after = text[:position], text[position:]
    if before and not before.endswith("\n"):
        before += newline
    return before + "".join(line + newline for line in lines) + after
