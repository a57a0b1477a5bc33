"""Draws a chart of a table as a PNG.

    python3 chart.py sales.xlsx --kind bar --x region --y revenue --agg sum --title "…" --out revenue.png

Needs pandas and matplotlib (openpyxl for Excel). Prints the figures that it drew.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
from dates import read_month
from matplotlib.font_manager import fontManager
from matplotlib.ticker import FuncFormatter
from tables import is_text, read_table, sheets, spellings, unify_spellings

HAN_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Zen Hei"),
    *("WenQuanYi Micro Hei", "Microsoft YaHei", "PingFang SC", "Droid Sans Fallback"),
)
HAN = re.compile(r"[\u4e00-\u9fff]")
_found = {font.name for font in fontManager.ttflist}
mpl.rcParams["font.family"] = ["DejaVu Sans", *(name for name in HAN_FONTS if name in _found)]

COLOURS = ("#2f6fab", "#e07b39", "#4c9f70", "#b0437a", "#8a7f2d", "#5b5b8c")
GROUPS = len(COLOURS)
OTHER = "other"
EDGE = 0.03
"""Room beside the first and the last point of a line, as a share of the width."""
PERIODS = {"D": "D", "W": "W", "M": "M", "Q": "Q", "Y": "Y"}


class Wrong(ValueError):
    """The chart can't be drawn; the text says what to give instead."""


def has_han_font() -> bool:
    """Whether Chinese labels can be drawn; without a font, they are boxes."""
    return not _found.isdisjoint(HAN_FONTS)


def column(table: pd.DataFrame, name: str | None, option: str) -> str:
    """The column of this name, in any case of letters. Raises Wrong."""
    if name is None:
        raise Wrong(f"--{option} is missing; columns: {', '.join(table.columns)}")
    found = [one for one in table.columns if one == name] or [
        one for one in table.columns if one.casefold() == name.casefold()
    ]
    if not found:
        raise Wrong(f"there is no column {name}; columns: {', '.join(table.columns)}")
    return str(found[0])


def numbers(table: pd.DataFrame, name: str, option: str) -> str:
    """The same, of numbers. Raises Wrong."""
    if not pd.api.types.is_numeric_dtype(table[name]):
        raise Wrong(f"--{option} {name} holds no numbers; choose another column, or --agg count")
    return name


def figures(table: pd.DataFrame, given: argparse.Namespace) -> pd.DataFrame:
    """What is drawn for bars and lines: one row for each x, one column for each group."""
    x = column(table, given.x, "x")
    y = None if given.agg == "count" else numbers(table, column(table, given.y, "y"), "y")
    by = column(table, given.by, "by") if given.by else None
    table = table.copy()
    if given.kind == "line" and given.period:
        if not pd.api.types.is_datetime64_any_dtype(table[x]):
            raise Wrong(f"--period needs dates; {x} holds none")
        table[x] = table[x].dt.to_period(PERIODS[given.period]).dt.to_timestamp()
    if by is not None:
        largest = table[by].value_counts().index[:GROUPS] if y is None else _largest(table, by, y)
        table[by] = table[by].where(
            table[by].isin(largest[: GROUPS - 1] if table[by].nunique() > GROUPS else largest), OTHER
        )
    keys = [x] if by is None else [x, by]
    grouped = table.groupby(keys, observed=True)
    found = grouped.size() if y is None else grouped[y].agg(given.agg)
    name = y or "count"
    wide = found.rename(name).to_frame() if by is None else found.unstack(by)
    months = [read_month(str(one)) for one in wide.index]
    if given.kind == "line" or (isinstance(wide.index, pd.DatetimeIndex) and len(wide) <= given.top):
        return wide.sort_index()
    if len(wide) <= given.top and all(month for _, month in months):
        return wide.iloc[sorted(range(len(wide)), key=months.__getitem__)]
    return _top(wide.loc[wide.sum(axis=1).sort_values(ascending=False).index], given)


def value_label(table: pd.DataFrame, given: argparse.Namespace) -> str:
    """What the figures are: `revenue`, `mean of revenue`, `rows`."""
    if given.agg == "count":
        return "rows"
    name = column(table, given.y, "y")
    return name if given.agg == "sum" else f"{given.agg} of {name}"


def _largest(table: pd.DataFrame, by: str, y: str) -> pd.Index:
    return table.groupby(by, observed=True)[y].sum().sort_values(ascending=False).index


def _top(wide: pd.DataFrame, given: argparse.Namespace) -> pd.DataFrame:
    if len(wide) <= given.top:
        return wide
    head, rest = wide.iloc[: given.top - 1], wide.iloc[given.top - 1 :]
    if given.agg not in {"sum", "count"}:
        return wide.iloc[: given.top]
    tail = rest.sum().to_frame(f"{OTHER} ({len(rest)})").T
    return pd.concat([head, tail])


def warn_of_spellings(table: pd.DataFrame, given: argparse.Namespace) -> None:
    """Print a note for each column of labels in which one value has several spellings."""
    for option, wanted in (("x", given.x), ("by", given.by)):
        name = column(table, wanted, option) if wanted is not None else None
        if name is None or not is_text(table[name]):
            continue
        if groups := list(spellings(table[name])):
            texts = ", ".join(f'"{text[:40]}"' for text in groups[0])
            print(
                f"note: `{name}` has values in several spellings ({len(groups)}): {texts}; "
                f"--unify '{name}' joins them",
                file=sys.stderr,
            )


def draw(table: pd.DataFrame, given: argparse.Namespace) -> pd.DataFrame:
    """Draw into `given.out`; the figures that were drawn. Raises Wrong."""
    figure, axes = plt.subplots(figsize=(9, 5.2), dpi=150, layout="constrained")
    try:
        shown = _DRAWN[given.kind](table, axes, given)
        if given.title:
            axes.set_title(given.title, loc="left", fontweight="bold", wrap=True)
        axes.spines[["top", "right"]].set_visible(False)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(given.out, format="png")
    finally:
        plt.close(figure)
    return shown


def _bars(table: pd.DataFrame, axes: plt.Axes, given: argparse.Namespace) -> pd.DataFrame:
    wide = figures(table, given)
    labels = [str(label)[:28] for label in wide.index]
    flat = max(map(len, labels), default=0) > 10 or len(labels) > 8
    wide = wide.set_axis(labels)
    wide.iloc[::-1].plot.barh(ax=axes, color=COLOURS, legend=len(wide.columns) > 1, width=0.75) if flat else (
        wide.plot.bar(ax=axes, color=COLOURS, legend=len(wide.columns) > 1, width=0.75, rot=0)
    )
    (axes.set_ylabel if flat else axes.set_xlabel)("")
    (axes.set_xlabel if flat else axes.set_ylabel)(value_label(table, given))
    value = axes.xaxis if flat else axes.yaxis
    value.set_major_formatter(FuncFormatter(lambda number, _: short(number, given.unit)))
    if len(wide.columns) == 1:
        for bars in axes.containers:
            axes.bar_label(bars, fmt=lambda number: short(number, given.unit), padding=3, fontsize=9)
        axes.margins(**({"x": 0.12} if flat else {"y": 0.12}))
    return wide


def _lines(table: pd.DataFrame, axes: plt.Axes, given: argparse.Namespace) -> pd.DataFrame:
    wide = figures(table, given)
    wide.plot(ax=axes, color=COLOURS, linewidth=2, marker="o" if len(wide) <= 40 else None, markersize=4)
    axes.legend().set_visible(len(wide.columns) > 1)
    axes.set_xlabel("")
    axes.set_ylabel(value_label(table, given))
    first, last = axes.get_xlim()
    axes.set_xlim(first - EDGE * (last - first), last + EDGE * (last - first))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: short(number, given.unit)))
    axes.grid(axis="y", alpha=0.3)
    if wide.min().min() >= 0:
        axes.set_ylim(bottom=0)
    return wide


def _points(table: pd.DataFrame, axes: plt.Axes, given: argparse.Namespace) -> pd.DataFrame:
    x = numbers(table, column(table, given.x, "x"), "x")
    y = numbers(table, column(table, given.y, "y"), "y")
    by = column(table, given.by, "by") if given.by else None
    groups = [("", table)] if by is None else list(table.groupby(by, observed=True))[:GROUPS]
    for (name, group), colour in zip(groups, COLOURS, strict=False):
        axes.scatter(group[x], group[y], s=22, alpha=0.7, color=colour, label=str(name))
    if by is not None:
        axes.legend(title=by)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return table[[x, y]].corr().round(3)


def _spread(table: pd.DataFrame, axes: plt.Axes, given: argparse.Namespace) -> pd.DataFrame:
    x = numbers(table, column(table, given.x, "x"), "x")
    axes.hist(table[x].dropna(), bins="auto", color=COLOURS[0], edgecolor="white")
    axes.axvline(
        table[x].median(),
        color=COLOURS[1],
        linestyle="--",
        label=f"median {short(table[x].median(), given.unit)}",
    )
    axes.legend()
    axes.set_xlabel(x)
    axes.set_ylabel("rows")
    return table[x].describe().to_frame()


_DRAWN = {"bar": _bars, "line": _lines, "scatter": _points, "hist": _spread}


def short(number: float, unit: str = "") -> str:
    """A number as a label: 1.2M, 34k, 5.6."""
    for size, sign in ((1e9, "bn"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            scaled = number / (1e3 if sign == "k" else size)
            return f"{scaled:.3g}{sign}{f' {unit}' if unit else ''}"
    return f"{number:,.6g}{f' {unit}' if unit else ''}"


def main(arguments: list[str] | None = None) -> int:
    """Read, draw, print the figures; 1 where it can't be drawn."""
    parser = argparse.ArgumentParser(description="Draw a chart of a table.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sheet")
    parser.add_argument("--kind", choices=tuple(_DRAWN), required=True)
    parser.add_argument("--x")
    parser.add_argument("--y")
    parser.add_argument("--by")
    parser.add_argument("--agg", choices=("sum", "mean", "median", "count", "min", "max"), default="sum")
    parser.add_argument("--period", choices=tuple(PERIODS))
    parser.add_argument("--where", help="rows to take, as pandas writes it: \"region == 'North'\"")
    parser.add_argument("--unify", action="append", default=[], help="column whose spellings are joined")
    parser.add_argument("--dates", choices=("day-first", "month-first"), help="how to read 03/04/2026")
    parser.add_argument("--top", type=int, default=12)
    parser.add_argument("--title")
    parser.add_argument("--unit", default="")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    try:
        if given.sheet is not None and given.sheet not in sheets(given.file):
            raise Wrong(
                f"there is no sheet {given.sheet}; there are: {', '.join(sheets(given.file)) or 'none'}"
            )
        day_first = given.dates == "day-first" if given.dates else None
        table = read_table(given.file, given.sheet, day_first=day_first)
        for name in [column(table, one, "unify") for one in given.unify]:
            table[name] = unify_spellings(table[name])
        if given.where:
            table = table.query(given.where)
        if table.empty:
            raise Wrong("no row is left to draw")
        warn_of_spellings(table, given)
        shown = draw(table, given)
        if not has_han_font() and HAN.search(f"{given.title} {given.x} {given.y} {shown.to_string()}"):
            print(
                "note: no font has Chinese characters, so they are boxes; use English labels", file=sys.stderr
            )
    except (ValueError, OSError, KeyError, SyntaxError, pd.errors.UndefinedVariableError) as error:
        print(f"no chart: {error}", file=sys.stderr)
        return 1
    print(f"wrote {given.out}\n\n{shown.head(40).to_string()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
