"""What scripts/lint checks in Markdown: that its links, its paths and its walks through the sources
lead somewhere.

A walk is a table with the columns `file` and `function`. Each of its files exists, each function is
defined in a file of its row, and each file of a row defines a function of that row.
"""

import os
import re

from lint_source import CPP, Source, functions

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]*)\)")
CODE = re.compile(r"`([^`]+)`")
# A file of the sources, spelled from their root.
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+\.(?:h|cc|cuh|cu|py|md|txt|csv|json)")
# Headers of NVSHMEM's are named as programs include them.
ROOTS = ("", "nvshmem/include", "nvshmem/include/nvshmem")


def text_lines(source):
    """(line number, line) outside of fenced code."""
    fenced = False
    for number, line in enumerate(source.lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(source):
    """The anchors of a document's headings, as GitHub makes them."""
    seen = {}
    for _, line in text_lines(source):
        heading = re.match(r"#{1,6}\s+(.*)", line)
        if not heading:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        seen[anchor] = seen.get(anchor, -1) + 1
        yield anchor if seen[anchor] == 0 else f"{anchor}-{seen[anchor]}"


def check_links(root, source):
    folder = os.path.dirname(source.path)
    for number, line in text_lines(source):
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(folder, name)) if name else source.path
            if not (root / path).exists():
                yield source.path, number, "link", f"use a file that exists; {path} does not"
            elif anchor and anchor not in anchors(Source.read(root, path)):
                yield source.path, number, "link", f"use a heading of {path}; #{anchor} is none"


def check_paths(root, source):
    for number, line in text_lines(source):
        for name in CODE.findall(line):
            if PATH.fullmatch(name) and not any((root / top / name).exists() for top in ROOTS):
                yield source.path, number, "path", f"use a file that exists; {name} does not"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def walk_rows(source):
    """(line number, files, functions) of each row of each walk."""
    columns = None
    for number, line in text_lines(source):
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            header = cells(line)
            named = "file" in header and "function" in header
            columns = (header.index("file"), header.index("function")) if named else ()
        elif columns and not set(line) <= set("|-: "):
            row = cells(line)
            yield number, *(CODE.findall(row[column]) for column in columns)


def defines(source, name):
    """Whether a file defines the function of this name, which may have its class in front."""
    if source is None or source.kind != CPP:
        return False
    if not any(name.split("::")[-1] == defined for _, _, defined in functions(source)):
        return False
    return "::" not in name or any(f"{name}(" in line for line in source.code)


def check_walks(root, source):
    for number, files, names in walk_rows(source):
        missing = [path for path in files if not (root / path).is_file()]
        if missing or not files or not names:
            wrong = ", ".join(missing) or "an empty cell"
            yield (source.path, number, "walk",
                   f"use files that exist, and functions that they define; not {wrong}")
            continue
        places = {path: Source.read(root, path) for path in files}
        for name in names:
            if not any(defines(place, name) for place in places.values()):
                yield (source.path, number, "walk",
                       f"use a file that defines {name}; {', '.join(places)} does not")
        for path, place in places.items():
            if not any(defines(place, name) for name in names):
                yield (source.path, number, "walk",
                       f"use a function that {path} defines; not only {', '.join(names)}")


def check(root, source):
    yield from check_links(root, source)
    yield from check_paths(root, source)
    yield from check_walks(root, source)
