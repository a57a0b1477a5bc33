"""No path of the agent's folders stands in an answer, and what it links to is attached."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.shared.output_links import MAX_FILES, list_linked_outputs, resolve_output
from bot.render.partial_markdown import close_open
from bot.render.thread_paths import ThreadPaths

OUT = "/mnt/user-data/outputs"
CHART = f"{OUT}/chart.png"
PIECES = st.sampled_from(
    [
        *("see ", "The chart. ", "\n", "\n\n", "- ", "> ", "**", "*", "|", "(", ")", "[", "]", "!", "图，"),
        *(f"[chart]({CHART})", f"![]({CHART})", f"![alt](sandbox:{CHART})", f"[a b](<{OUT}/a b.pdf>)"),
        *("[rel](outputs/x.csv)", CHART, f"`{CHART}`", f"file://{CHART}", f"<{CHART}>", "`code`", "```\n"),
        *(f" /mnt/user-data/workspace/{'deep/' * 3}run.py", " https://example.com/a ", "/mnt", "sandbox:"),
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    paths = ThreadPaths()
    return paths.clean(text), paths.files


@given(TEXTS)
@example(f"- ```\n```\n[chart]({CHART})")
@example(f"> ```\n```\n[chart]({CHART})")
@example(f"- ```\n  ```\n[chart]({CHART})")
@example(f"- > ```\n> ```\n[chart]({CHART})")
def test_the_agent_counts_no_file_as_linked_that_is_not_attached(text: str) -> None:
    assert set(list_linked_outputs(text)) <= set(clean(text)[1])


@pytest.mark.parametrize(
    ("text", "shown", "files"),
    [
        (f"[chart]({CHART})", "chart", [CHART]),
        (f"See [the chart](sandbox:{CHART}).", "See the chart.", [CHART]),
        (f'See [the chart](file://{CHART} "A title")!', "See the chart!", [CHART]),
        ("[x](outputs/x.csv) [y](./outputs/y.csv) [z](../outputs/z.csv)", "x y z", None),
        (f"Files go to `{OUT}`, not `{OUT}/x`.", f"Files go to `{OUT}`, not `x`.", []),
        (f"[my report](<{OUT}/my report.pdf>)", "my report", [f"{OUT}/my report.pdf"]),
        (f"[my report]({OUT}/my%20report.pdf)", "my report", [f"{OUT}/my report.pdf"]),
        (f"[a]({OUT}/a_(1).png) b", "a b", [f"{OUT}/a_(1).png"]),
        (f"[`chart.png`]({CHART})", "`chart.png`", [CHART]),
        (f"[{CHART}]({CHART})", "chart.png", [CHART]),
        (f"[]({CHART})", "chart.png", [CHART]),
        (f"One\n\n![Revenue]({CHART})\n\nTwo", "One\n\nTwo", [CHART]),
        (f"![a]({CHART})\n\nTwo", "Two", [CHART]),
        (f"- One\n![a]({CHART})\n\nTwo", "- One\n\nTwo", [CHART]),
        (f"![a]({CHART}) ![b]({OUT}/b.png)", "", [CHART, f"{OUT}/b.png"]),
        (f"Here: ![Revenue]({CHART})", "Here: Revenue", [CHART]),
        (f"[![Revenue]({CHART})]({OUT}/full.pdf)", "Revenue", [CHART, f"{OUT}/full.pdf"]),
        (f"Saved as {CHART}.", "Saved as chart.png.", []),
        (f"Saved as `{CHART}`, and **{OUT}/b.csv**", "Saved as `chart.png`, and **b.csv**", []),
        ("It is in `outputs/x.csv`.", "It is in `x.csv`.", []),
        (f"<sandbox:{CHART}>", "chart.png", []),
        (f"保存在{CHART}，请看", "保存在chart.png，请看", []),
        ("Run /mnt/user-data/workspace/a/run.py", "Run run.py", []),
        ("[code](/mnt/user-data/workspace/run.py)", "code", []),
        (f"[up]({OUT}/../workspace/secret.txt)", "up", []),
        (f"in {OUT}/", "in outputs", []),
        (f"```\ncp a {CHART}\n```", None, []),
        (f"    cp a {CHART}", None, []),
        (f"`cp a {CHART}` copies it", None, []),
        (f"`[chart]({CHART})`", None, []),
        ("https://example.com/mnt/user-data/outputs/x.png", None, []),
        ("[docs](https://example.com/outputs/x) and my outputs/inputs", None, []),
        ("nothing here\r\nat all", None, []),
        ("See ![chart](chart.png)", "See chart", [CHART]),
        ("![chart](./chart.png)\n\nTwo", "Two", [CHART]),
        ("[chart](sandbox:chart.png) and [it](sandbox:/mnt/data/chart.png)", "chart and it", [CHART]),
        ("[chart](attachment://chart.png)", "chart", [CHART]),
        ("[a](<a b.pdf>) [b](a%20b.pdf)", "a b", [f"{OUT}/a b.pdf"]),
        ("[a](parts/a(1).tar.gz)", "a", [f"{OUT}/parts/a(1).tar.gz"]),
        ("[图](图表.png)", "图", [f"{OUT}/图表.png"]),
        (f"![t](a b.csv) [t](sandbox:{OUT}/a b.csv 'T')", "t t", [f"{OUT}/a b.csv"]),
        ("[a](https://example.com/a.png) [b](mailto:a@b.de) [c](#c.png) [d](www.example.com)", None, []),
        ("[a](../a.png) [b](/b.png) [c](//c/c.png) [d](C:/d.png) [e](name) [f](a.html#b)", None, []),
        ("`[a](a.png)`", None, []),
    ],
)
def test_each_form(text: str, shown: str | None, files: list[str] | None) -> None:
    cleaned, linked = clean(text)
    assert cleaned == (text if shown is None else shown)
    assert list_linked_outputs(text) == list(linked)
    assert linked == tuple(files if files is not None else [f"{OUT}/{one}.csv" for one in "xyz"])


def test_the_name_of_a_missing_file_may_mean_something_else() -> None:
    text = "See [the guide](README.md), [x](sandbox:x.png) and\n\n![a](a.png)"
    paths = ThreadPaths([f"{OUT}/{name}" for name in ("README.md", "x.png", "a.png")])
    assert paths.clean(text) == text.replace("[x](sandbox:x.png)", "x")


def test_a_file_is_listed_once_and_many_are_cut() -> None:
    links = " ".join(f"[{number}]({OUT}/{number}.csv) [again]({OUT}/{number}.csv)" for number in range(30))
    assert clean(links)[1] == tuple(f"{OUT}/{number}.csv" for number in range(MAX_FILES))


@pytest.mark.parametrize(
    "target",
    ["outputs/../x", "outputs/", "/mnt/user-data/outputs", "outputs/a\x00b", "../x", "/x", "/etc/x.png"],
)
def test_no_other_target_is_an_output(target: str) -> None:
    assert resolve_output(target) == ""


# Without code, and with nothing in front that makes a path a part of something else.
GLUED = re.compile(r"(?<=/mnt)(?=/mnt)|(?<=png)(?=/mnt)|(?<=[A-Za-z0-9])(?=(?:sandbox|file):)")
PROSE = TEXTS.filter(lambda text: "`" not in text and "    " not in text).map(
    lambda text: GLUED.sub(" ", text)
)


@given(PROSE)
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    cleaned, _ = clean(text)
    assert clean(cleaned) == (cleaned, ())


@given(PROSE)
def test_no_path_is_left(text: str) -> None:
    assert "/mnt/user-data/" not in clean(text)[0]


@given(TEXTS, st.lists(st.floats(0, 1), max_size=6))
def test_a_growing_text_comes_to_the_same(text: str, ends: list[float]) -> None:
    paths = ThreadPaths()
    for end in sorted(ends):
        paths.clean(text[: round(end * len(text))], growing=True)
    assert (paths.clean(text), paths.files) == clean(text)


@given(PROSE, st.floats(0, 1))
def test_no_frame_shows_a_part_of_a_path(text: str, end: float) -> None:
    frame = close_open(ThreadPaths().clean(text[: round(end * len(text))], growing=True))
    assert "/mnt/user" not in frame
