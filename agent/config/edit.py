"""In-place edits of YAML text: rename keys and add entries without changing any other byte.

Dumping the parsed file would fold lines, change quotes and indentation, and rewrite `null`. So the parser
only provides positions, and the text is edited there. Each function takes the whole text and returns the new
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent

import yaml

from agent.config.document import compose_nodes
from agent.config.errors import KeyPath

Entry = tuple[yaml.Node, yaml.Node]


def root_mapping(text: str, file: str) -> yaml.MappingNode | None:
    """Return the top-level mapping, or None for an empty text. Raises ConfigErrors."""
    node = compose_nodes(text, file)
    return node if isinstance(node, yaml.MappingNode) else None


def find_entry(mapping: yaml.MappingNode, path: KeyPath) -> Entry | None:
    """Return the (key, value) nodes at the path, including merged ones."""
    found: Entry | None = None
    node: yaml.Node = mapping
    for part in path:
        if not isinstance(node, yaml.MappingNode):
            return None
        found = next((entry for entry in _iterate_entries(node) if entry[0].value == part), None)
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
