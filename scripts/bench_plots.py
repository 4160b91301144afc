"""Which plots scripts/bench draws from the tables of the GPU benchmarks."""

import plot_svg
from plot_svg import Series


class Table:
    """A table as the benchmarks write it, with its columns by name."""

    def __init__(self, data):
        self.name = data["name"]
        self.rows = data["rows"]
        self.heads = [(column["name"], column["unit"]) for column in data["columns"]]

    def column(self, name, unit=None):
        for index, head in enumerate(self.heads):
            if head[0] == name and unit in (None, head[1]):
                return [row[index] for row in self.rows]
        raise ValueError(f"table {self.name} has no column {name}")


def tables_of(results):
    """All tables of all programs, by name."""
    found = {}
    for program in results.values():
        for data in program.get("tables", []):
            found[data["name"]] = Table(data)
    return found


def bandwidth_plot(table):
    sizes = table.column("size")
    title = "Bandwidth of puts, " + table.name.removeprefix("bandwidth, ")
    return plot_svg.line_plot(
        title, "size of a message", "GB/s (10^9 bytes a second)",
        [Series("put", list(zip(sizes, table.column("BW")))),
         Series("cudaMemcpy of the same bytes", list(zip(sizes, table.column("cudaMemcpy BW"))))])


def posting_plot(table, doorbell):
    """One group of bars for each way to post, one bar for each policy."""
    rows = zip(table.column("posters"), table.column("policy"), table.column("doorbell"),
               table.column("puts", "M/s"), table.column("bound", "M/s"))
    rows = [row for row in rows if row[2] == doorbell]
    groups = list(dict.fromkeys(row[0] for row in rows))
    series = []
    for policy in dict.fromkeys(row[1] for row in rows):
        mine = [row for row in rows if row[1] == policy]
        series.append(Series(policy, [(groups.index(row[0]), row[3]) for row in mine],
                             [(groups.index(row[0]), row[4]) for row in mine]))
    when = "a doorbell for each put" if doorbell == "each" else f"a doorbell for every {doorbell}"
    return plot_svg.bar_plot(f"Posting 8-byte puts, {when}", "million puts a second, all posters",
                             groups, series, "the bound")


def draw(results):
    """{name of the plot: SVG text} for the tables that are there."""
    plots = {}
    for name, table in tables_of(results).items():
        if not table.rows:
            continue
        if name.startswith("bandwidth, "):
            plots[name.replace(", ", "-").replace(" ", "-")] = bandwidth_plot(table)
        if name == "posting":
            for doorbell in dict.fromkeys(table.column("doorbell")):
                plots[f"posting-{doorbell}"] = posting_plot(table, doorbell)
    return plots
