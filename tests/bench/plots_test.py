#!/usr/bin/env python3
"""The plots of scripts/bench, from numbers made up here. Prints what unittest prints."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import bench_plots
import plot_svg
from plot_svg import Series

SVG = "{http://www.w3.org/2000/svg}"
SIZES = [1 << power for power in range(3, 27)]


def table(name, heads, rows):
    columns = [{"name": head, "unit": unit} for head, unit in heads]
    return {"name": name, "title": name, "columns": columns, "rows": rows}


BANDWIDTH = table("bandwidth, one GPU, one way",
                  [("size", "B"), ("BW", "GB/sec"), ("cudaMemcpy BW", "GB/sec")],
                  [[size, size / 1e6, size / 5e5] for size in SIZES])
POSTING = table("posting",
                [("posters", ""), ("policy", ""), ("doorbell", ""), ("a put", "ns"),
                 ("puts", "M/s"), ("bound", "M/s")],
                [["1 thread", "exclusive", "each", 500, 2, 2.5],
                 ["1 thread", "shared", "each", 1000, 1, 2.5],
                 ["132 warps", "shared", "each", 1, 1000, 3000],
                 ["132 warps", "shared", "32nd", 1, 1500, None]])


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(SVG + "text")]


def elements(svg, name, css=""):
    found = ElementTree.fromstring(svg).iter(SVG + name)
    return [element for element in found if element.get("class", "").startswith(css)]


class LinePlot(unittest.TestCase):
    def plot(self, *series):
        return plot_svg.line_plot("Title <1>", "size", "GB/s", list(series))

    def test_names_title_axes_and_series(self):
        words = texts(self.plot(Series("put", [(8, 1), (64, 2)]), Series("copy", [(8, 3)])))
        for word in ("Title <1>", "size", "GB/s", "put", "copy", "8 B", "64 B"):
            self.assertIn(word, words)

    def test_a_greater_value_stands_higher_and_a_greater_size_further_right(self):
        dots = elements(self.plot(Series("put", [(8, 0.5), (1024, 90)])), "circle")
        (x1, y1), (x2, y2) = [(float(d.get("cx")), float(d.get("cy"))) for d in dots]
        self.assertLess(x1, x2)
        self.assertGreater(y1, y2)

    def test_equal_factors_are_equal_distances(self):
        dots = elements(self.plot(Series("put", [(8, 1), (64, 10), (512, 100)])), "circle")
        heights = [float(dot.get("cy")) for dot in dots]
        self.assertAlmostEqual(heights[0] - heights[1], heights[1] - heights[2], delta=0.2)

    def test_leaves_out_what_is_not_there(self):
        svg = self.plot(Series("put", [(8, None), (16, 0), (32, 4)]))
        self.assertEqual(len(elements(svg, "circle")), 1)
        with self.assertRaisesRegex(ValueError, "nothing to plot"):
            self.plot(Series("put", [(8, None)]))

    def test_has_a_dark_scheme(self):
        self.assertIn("prefers-color-scheme: dark", self.plot(Series("put", [(8, 1)])))


class BarPlot(unittest.TestCase):
    def bars(self, svg):
        """All coloured boxes but those of the legend."""
        return [bar for bar in elements(svg, "rect", "f") if float(bar.get("width")) != 12]

    def test_a_greater_value_is_a_longer_bar(self):
        svg = plot_svg.bar_plot("T", "M/s", ["a", "b"], [Series("s", [(0, 2), (1, 300)])])
        short, long = [float(bar.get("width")) for bar in self.bars(svg)]
        self.assertLess(short, long)
        for word in ("T", "M/s", "a", "b", "s", "2", "300"):
            self.assertIn(word, texts(svg))

    def test_a_mark_stands_at_its_value(self):
        svg = plot_svg.bar_plot("T", "M/s", ["a", "b"],
                                [Series("s", [(0, 2), (1, 300)], [(0, 300)])], "bound")
        long = self.bars(svg)[1]
        end = float(long.get("x")) + float(long.get("width"))
        self.assertAlmostEqual(float(elements(svg, "line", "mark")[0].get("x1")), end, delta=0.2)

    def test_bars_do_not_overlap(self):
        series = [Series(str(s), [(g, 1 + s + g) for g in range(3)]) for s in range(2)]
        svg = plot_svg.bar_plot("T", "M/s", ["a", "b", "c"], series)
        tops = sorted(float(bar.get("y")) for bar in self.bars(svg))
        height = float(self.bars(svg)[0].get("height"))
        self.assertEqual(len(tops), 6)
        self.assertTrue(all(b - a >= height for a, b in zip(tops, tops[1:])))


class Draw(unittest.TestCase):
    def test_one_plot_for_each_table_that_has_one(self):
        other = table("latency", [("operation", "")], [["put"]])
        results = {"a": {"tables": [BANDWIDTH, other]}, "b": {"tables": [POSTING]}}
        plots = bench_plots.draw(results)
        self.assertEqual(sorted(plots),
                         ["bandwidth-one-GPU-one-way", "posting-32nd", "posting-each"])
        self.assertIn("64 MiB", texts(plots["bandwidth-one-GPU-one-way"]))
        self.assertEqual(len(elements(plots["bandwidth-one-GPU-one-way"], "polyline")), 2)
        self.assertEqual(len(elements(plots["posting-each"], "line", "mark")), 3)
        self.assertEqual(len(elements(plots["posting-32nd"], "line", "mark")), 0)

    def test_a_table_that_lost_a_column_is_an_error(self):
        broken = table("posting", [("posters", "")], [["1 thread"]])
        with self.assertRaisesRegex(ValueError, "posting has no column"):
            bench_plots.draw({"a": {"tables": [broken]}})

    def test_no_rows_no_plot(self):
        empty = {**BANDWIDTH, "rows": []}
        self.assertEqual(bench_plots.draw({"a": {"tables": [empty]}}), {})


if __name__ == "__main__":
    unittest.main()
