"""Puts the seeded bugs into a copy of device/.

    seed.py ROOT OUT

Reads ROOT/tests/museum/seeded/*.bugs and writes OUT/device, a copy of ROOT/device with all bugs in
it, of which each is switched on at run time, and OUT/seeded_list.cc, their list. Fails, and says
which entry is at fault, if the code that an entry names does not stand in its header once, as whole
lines. README.md of this folder says how an entry looks.
"""

import pathlib
import re
import sys

LIST = """#include "tests/museum/seeded/seeded_list.h"

namespace gdakit::seeded {

static constexpr Bug kBugs[] = {
ROWS
};

std::span<const Bug> all_bugs() { return kBugs; }

}  // namespace gdakit::seeded
"""
FIELDS = ("what", "needs", "with", "missed")


class Bug:
    """One entry of a .bugs file."""

    def __init__(self, name, header, line):
        self.name = name
        self.header = header
        self.place = f"tests/museum/seeded/{header}.bugs:{line}: [{name}]"
        self.words = {}
        self.code = {"was": [], "now": []}

    def fail(self, why):
        sys.exit(f"seed.py: {self.place}: {why}")


def read_bugs(path, header):
    bugs, part = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        name = re.fullmatch(r"\[([a-z0-9-]+)\]", line)
        field = re.match(rf"({'|'.join(FIELDS)}): (.*)", line)
        if name:
            bugs.append(Bug(name[1], header, number))
            part = None
        elif line in ("was:", "now:"):
            part = line[:-1]
        elif part:
            bugs[-1].code[part].append(line)
        elif field:
            bugs[-1].words[field[1]] = field[2]
        elif line and not line.startswith("#"):
            sys.exit(f"seed.py: {path}:{number}: neither a field nor code: {line}")
    for bug in bugs:
        for lines in bug.code.values():
            while lines and not lines[-1]:
                lines.pop()
    return bugs


def check(bugs):
    names = set()
    for bug in bugs:
        if bug.name in names:
            bug.fail("the name is taken")
        names.add(bug.name)
        if not bug.words.get("what"):
            bug.fail("says not what is wrong")
        if "with" in bug.words:
            continue
        if not bug.code["was"] or not any("BUG" in line for line in bug.code["now"]):
            bug.fail("has no 'was', or a 'now' without BUG")


def place_of(lines, was):
    """Where `was` begins in `lines`; -1 if that is not one place."""
    found = [i for i in range(len(lines)) if lines[i : i + len(was)] == was]
    return found[0] if len(found) == 1 else -1


def seeded(lines, bugs, number_of):
    """The header with its bugs."""
    lines = list(lines)
    for bug in bugs:
        if "with" in bug.words:
            continue
        at = place_of(lines, bug.code["was"])
        if at < 0:
            bug.fail(f"its 'was' does not stand in device/{bug.header}.h once")

        def switch(match, own=bug):
            name = match[2] or own.name
            if name not in number_of:
                own.fail(f"BUG({name}): no such entry")
            return f"::gdakit::seeded::is({number_of[name]})"

        now = [re.sub(r"\bBUG\b(\(([a-z0-9-]+)\))?", switch, line) for line in bug.code["now"]]
        lines[at : at + len(bug.code["was"])] = now
    at = lines.index("#pragma once")
    lines.insert(at + 1, '#include "tests/museum/seeded/seeded_bug.h"')
    return lines


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    root, out = map(pathlib.Path, sys.argv[1:])
    bugs = []
    for path in sorted((root / "tests/museum/seeded").glob("**/*.bugs")):
        header = str(path.relative_to(root / "tests/museum/seeded").with_suffix(""))
        bugs += read_bugs(path, header)
    check(bugs)
    number_of = {bug.name: number for number, bug in enumerate(bugs, 1)}
    for path in sorted((root / "device").glob("**/*.h")):
        name = path.relative_to(root / "device")
        lines = path.read_text().splitlines()
        own = [bug for bug in bugs if bug.header == str(name.with_suffix(""))]
        if own:
            lines = seeded(lines, own, number_of)
        write(out / "device" / name, "\n".join(lines) + "\n")
    rows = [
        f'{{"{bug.name}", "device/{bug.header}.h", R"({bug.words["what"]})", '
        f'R"({bug.words.get("missed", "")})"}},'
        for bug in bugs
    ]
    write(out / "seeded_list.cc", LIST.replace("ROWS", "\n".join(rows)))


main()
