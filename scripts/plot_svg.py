"""Small plots as SVG, without other packages: lines over a logarithmic axis, and grouped bars.

  line_plot(title, x_label, y_label, [Series("puts", [(8, 0.01), (64, 0.08)])]) -> SVG text
  bar_plot(title, x_label, ["1 thread"], [Series("shared", [(0, 1.4)])]) -> SVG text

A light or dark scheme is followed. Points whose value is None or not positive are left out.
"""

import math
from html import escape
from typing import NamedTuple

COLOURS = 5  # series beyond them begin again
STYLE = """
  svg { font: 13px system-ui, sans-serif; }
  .paper { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; }
  .grid { stroke: #d1d9e0; stroke-width: 1; } .axis { stroke: #59636e; stroke-width: 1; }
  .line { fill: none; stroke-width: 2; } .mark { stroke: #1f2328; stroke-width: 2; }
  .s0 { stroke: #0969da; } .s1 { stroke: #bc4c00; } .s2 { stroke: #1a7f37; }
  .s3 { stroke: #8250df; } .s4 { stroke: #9a6700; }
  .f0 { fill: #0969da; } .f1 { fill: #bc4c00; } .f2 { fill: #1a7f37; }
  .f3 { fill: #8250df; } .f4 { fill: #9a6700; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; } text { fill: #f0f6fc; } .quiet { fill: #9198a1; }
    .grid { stroke: #3d444d; } .axis { stroke: #9198a1; } .mark { stroke: #f0f6fc; }
    .s0 { stroke: #4493f8; } .s1 { stroke: #f0883e; } .s2 { stroke: #3fb950; }
    .s3 { stroke: #ab7df8; } .s4 { stroke: #d29922; }
    .f0 { fill: #4493f8; } .f1 { fill: #f0883e; } .f2 { fill: #3fb950; }
    .f3 { fill: #ab7df8; } .f4 { fill: #d29922; }
  }
"""


class Series(NamedTuple):
    """A name and its (x, y); for bars x is the group's number. `marks`: (x, y) of bounds."""
    name: str
    points: list
    marks: list = []


def visible(points):
    return [(x, y) for x, y in points if y is not None and y > 0]


def bytes_text(count):
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:g} {unit}"
    return f"{count:g} B"


def number_text(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


class LogAxis:
    """Values between two powers of ten, onto pixels."""

    def __init__(self, values, begin, end):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.begin, self.end = begin, end

    def at(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = [f'<rect class="paper" width="{width}" height="{height}"/>']
        self.text(16, 26, title, size=16, weight="bold")
        self.title = title

    def text(self, x, y, words, anchor="start", css="", size=13, weight="normal", turned=False):
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self.parts.append(f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                          f'font-size="{size}" font-weight="{weight}"{turn}>{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, css):
        self.parts.append(f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
                          f'y2="{y2:.1f}"/>')

    def rect(self, x, y, width, height, css, hint):
        self.parts.append(f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}"><title>{escape(hint)}</title></rect>')

    def legend(self, names, y):
        x = 16
        for number, name in enumerate(names):
            self.rect(x, y - 10, 12, 12, f"f{number % COLOURS}", name)
            self.text(x + 18, y, name)
            x += 34 + 7.5 * len(name)

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" role="img" '
                f'aria-label="{escape(self.title)}">\n<style>{STYLE}</style>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def size_ticks(sizes):
    """Every third power of two, and the largest size."""
    first, last = int(math.log2(min(sizes))), int(math.log2(max(sizes)))
    powers = [power for power in range(first, last + 1, 3) if last - power > 1] + [last]
    return [1 << power for power in powers]


def draw_line(drawing, number, series, place):
    points = [place(x, y) for x, y in visible(series.points)]
    css = number % COLOURS
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    drawing.parts.append(f'<polyline class="line s{css}" points="{path}"/>')
    for (x, y), (size, value) in zip(points, visible(series.points)):
        hint = f"{series.name}, {bytes_text(size)}: {number_text(value)}"
        drawing.parts.append(f'<circle class="f{css}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
                             f'<title>{escape(hint)}</title></circle>')


def line_plot(title, x_label, y_label, all_series):
    """x: sizes in bytes; both axes are logarithmic."""
    drawing = Drawing(860, 520, title)
    left, right, top, bottom = 84, 836, 72, 456
    values = [y for series in all_series for _, y in visible(series.points)]
    sizes = [x for series in all_series for x, _ in visible(series.points)]
    if not values:
        raise ValueError(f"{title}: there is nothing to plot")
    axis = LogAxis(values, bottom, top)
    low, high = math.log2(min(sizes)), math.log2(max(sizes))

    def place(x, y):
        share = (math.log2(x) - low) / (high - low) if high > low else 0.5
        return left + share * (right - left), axis.at(y)

    for tick in axis.ticks():
        drawing.line(left, axis.at(tick), right, axis.at(tick), "grid")
        drawing.text(left - 8, axis.at(tick) + 4, f"{tick:g}", anchor="end", css="quiet")
    for tick in size_ticks(sizes):
        x, _ = place(tick, values[0])
        drawing.line(x, bottom, x, bottom + 5, "axis")
        drawing.text(x, bottom + 20, bytes_text(tick), anchor="middle", css="quiet")
    drawing.line(left, bottom, right, bottom, "axis")
    drawing.text((left + right) / 2, bottom + 46, x_label, anchor="middle")
    drawing.text(24, (top + bottom) / 2, y_label, anchor="middle", turned=True)
    drawing.legend([series.name for series in all_series], 52)
    for number, series in enumerate(all_series):
        draw_line(drawing, number, series, place)
    return drawing.svg()


def bar_plot(title, x_label, groups, all_series, mark_name=""):
    """Horizontal bars, one group below the other; the axis is logarithmic."""
    bar, gap = 16, 14
    rows = {number: [(s, series) for s, series in enumerate(all_series)
                     if any(x == number for x, _ in visible(series.points))]
            for number in range(len(groups))}
    height = 72 + sum(bar * max(1, len(rows[n])) + gap for n in rows) + 56
    drawing = Drawing(860, height, title)
    left, right, top, bottom = 230, 776, 72, height - 56
    values = [y for series in all_series for _, y in visible(series.points + series.marks)]
    if not values:
        raise ValueError(f"{title}: there is nothing to plot")
    axis = LogAxis(values, left, right)
    for tick in axis.ticks():
        drawing.line(axis.at(tick), top - 8, axis.at(tick), bottom, "grid")
        drawing.text(axis.at(tick), bottom + 18, f"{tick:g}", anchor="middle", css="quiet")
    drawing.text((left + right) / 2, bottom + 42, x_label, anchor="middle")
    drawing.legend([series.name for series in all_series], 52)
    if mark_name:
        drawing.text(right + 70, 52, f"| {mark_name}", anchor="end", css="quiet")
    y = top
    for number, group in enumerate(groups):
        middle = y + bar * max(1, len(rows[number])) / 2 + 4
        drawing.text(left - 10, middle, group, anchor="end")
        for s, series in rows[number]:
            value, mark = dict(series.points)[number], dict(series.marks).get(number)
            drawing.rect(left, y, axis.at(value) - left, bar - 2, f"f{s % COLOURS}",
                         f"{group}, {series.name}: {number_text(value)}")
            if mark:
                drawing.line(axis.at(mark), y - 1, axis.at(mark), y + bar - 1, "mark")
            beyond = axis.at(max(value, mark or 0))
            drawing.text(beyond + 6, y + bar - 4, number_text(value), css="quiet", size=12)
            y += bar
        y += gap if rows[number] else bar + gap
    return drawing.svg()
