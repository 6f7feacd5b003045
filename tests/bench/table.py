"""The table: rows of figures, each beside its bar and beside what others take for the same."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

_HEAD: Final = ("what", "median", "tail", "bar", "met", "beside")
_RIGHT: Final = frozenset({1, 2})


class Bar(Struct, frozen=True):
    """What a figure must reach."""

    limit: float
    sense: Literal["<=", ">="] = "<="

    def is_met(self, value: float) -> bool:
        """Tell whether `value` is good enough."""
        return value <= self.limit if self.sense == "<=" else value >= self.limit


class Row(Struct, frozen=True, kw_only=True):
    """One line. `tail` is the worse end of the same figure, named by `tail_name`.

    `beside` tells the ratio to ours, `note` what explains the figure.
    """

    what: str
    value: float
    unit: str
    tail: float | None = None
    tail_name: str = "p99"
    bar: Bar | None = None
    beside: str = ""
    note: str = ""


def render_number(value: float) -> str:
    """Return three significant digits, or whole numbers with their thousands apart."""
    if abs(value) >= 1000:
        return f"{round(value, 3 - len(str(int(abs(value))))):,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def render_ratio(value: float, other: float, whose: str) -> str:
    """Return a figure as a multiple of another of the same run."""
    return f"{render_number(value / other)} x {whose}" if other > 0 else ""


def render_table(rows: Sequence[Row]) -> str:
    """Return the table; notes stand below it, by number."""
    notes = [row.note for row in rows if row.note]
    cells = [_HEAD, *(_cells(row, notes) for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(_HEAD))]
    lines = [
        "  ".join(
            text.rjust(width) if at in _RIGHT else text.ljust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines += [f"[{number}] {note}" for number, note in enumerate(notes, 1)]
    return "\n".join(lines)


def render_verdict(rows: Sequence[Row]) -> str:
    """Return the sum of the bars."""
    judged = [row for row in rows if row.bar is not None]
    missed = [row.what for row in judged if row.bar is not None and not row.bar.is_met(row.value)]
    counts = f"{len(judged) - len(missed)} of {len(judged)} bars are met"
    return f"{counts}; missed: {', '.join(missed)}" if missed else counts


def _cells(row: Row, notes: list[str]) -> tuple[str, ...]:
    mark = f" [{notes.index(row.note) + 1}]" if row.note else ""
    tail = "" if row.tail is None else f"{row.tail_name} {render_number(row.tail)}"
    bar = "" if row.bar is None else f"{row.bar.sense} {row.bar.limit:,g} {row.unit}"
    met = "" if row.bar is None else "yes" if row.bar.is_met(row.value) else "NO"
    value = f"{render_number(row.value)} {row.unit}"
    return (f"{row.what}{mark}", value, tail, bar, met, row.beside)
