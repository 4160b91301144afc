#!/usr/bin/env python3
"""docs/api.md has the signatures of the public headers, all of them and no others.

Prints what unittest prints; a failure prints the lines that the page should have.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "api.md"
# The blocks of the page, by their headings, and what they list. No class: free functions.
SECTIONS = {
    "Pe": [("device/pe.h", "Pe"), ("device/pe_rma.h", "RmaCalls"),
           ("device/pe_words.h", "WordCalls"), ("device/pe_atomics.h", "AtomicCalls"),
           ("device/lock.h", "LockCalls")],
    "Channel": [("device/channel.h", "Channel")],
    "HostChannel": [("host_calls/host_channel.h", "HostChannel")],
    "Team": [("device/team_handle.h", "TeamHandle")],
    "Context": [("core/host/context.h", "Context")],
    "Jobs": [("gdakit.h", None)],
}
# Of the library's own parts, not for programs.
INTERNAL = {"Context": {"create", "bootstrap", "backend", "memory", "device_context",
                        "host_context", "host_drives", "host_result", "wait_clock"}}


def without_comments(text):
    return re.sub(r"^\s*#.*$", "", re.sub(r"//[^\n]*", "", text), flags=re.M)


def body_of(text, name):
    """What stands between the braces of a class."""
    start = text.index("{", re.search(rf"\bclass {name}\b[^;{{]*{{", text).start())
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start + 1:at]
    raise ValueError(name)


def declarations(body):
    """Each declaration at the outermost level, without the body that it may have."""
    head, depth, parentheses = "", 0, 0
    for character in body:
        if depth == 0:
            parentheses += (character == "(") - (character == ")")
            if parentheses == 0 and character in "{;":
                yield head
                head = ""
            else:
                head += character
        depth += (character == "{" and parentheses == 0) - (character == "}" and parentheses == 0)
        if depth == 0 and parentheses == 0 and character == "}":
            head = ""


def without_template(text):
    text = text.strip()
    if not text.startswith("template"):
        return text
    start, depth = text.index("<"), 0
    for at in range(start, len(text)):
        depth += (text[at] == "<") - (text[at] == ">")
        if depth == 0:
            return without_template(text[at + 1:])
    return text


def spelled(signature):
    """As the page spells a declaration: without template heads, namespaces and attributes."""
    text = " ".join(without_template(signature).split())
    text = re.sub(r"\bGDAKIT_\w+ |\bstatic |\bstd::|\bdetail::", "", text)
    text = re.sub(r"type_identity_t<(\w+)>", r"\1", text)
    text = re.sub(r"\bPe<[^>]*>", "Pe", text)
    text = re.sub(r"\bChannel<[^>]*>", "Channel", text)
    text = re.sub(r"\bTeamHandle<[^>]*>", "TeamHandle", text)
    return text.strip()


def signatures(path, name):
    text = without_comments((ROOT / path).read_text(encoding="utf-8"))
    if name is None:
        text = text[text.index("namespace gdakit {") + 18:text.index("namespace detail")]
    else:
        text = body_of(text, name)
    for part in declarations(text):
        label = re.match(r"\s*(public|private):", part)
        if label and label[1] == "private":
            return
        call = spelled(re.sub(r"\b(?:public|private):", "", part))
        function = re.match(r"[\w:<>*&, ]+?[ *&](\w+)\(", call)
        if function and not re.match(r"(?:using|friend|struct)\b|.*\boperator", call):
            yield function[1], call


def wanted(section):
    for path, name in SECTIONS[section]:
        for function, call in signatures(path, name):
            if function not in INTERNAL.get(section, ()):
                yield call


def with_forms(call, forms):
    """The call, and those that a comment behind it stands for: `// _nbi, _async`."""
    yield call
    if not forms:
        return
    result, name, arguments = re.fullmatch(r"(\w+) (\w+)\((.*)\)", call).groups()
    batch = "Batch batch = Batch::last"
    for form in forms:
        if form == "_vector":
            yield f"{result} {name}_vector({arguments.replace('T value', 'const T* values')})"
        elif result == "T":
            fetching = arguments.replace("Status* status = nullptr", batch)
            yield f"Status {name}{form}(T* fetched, {fetching})"
        else:
            returns = "Ticket" if form == "_async" else result
            yield f"{returns} {name}{form}({arguments}, {batch})"


def listed(section):
    """The signatures in the blocks below the heading `## Section`."""
    here, fenced, call = False, False, ""
    for line in PAGE.read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            here = line == f"## {section}"
        elif line.startswith("```"):
            fenced = not fenced
        elif here and fenced:
            code, _, comment = line.partition("//")
            call = f"{call} {code.strip()}".strip()
            if call.endswith(";"):
                yield from with_forms(call[:-1], re.findall(r"(?<!\w)_\w+", comment))
                call = ""


def enumerators(path, name):
    text = without_comments((ROOT / path).read_text(encoding="utf-8"))
    body = re.search(rf"enum class {name}\b[^{{]*{{([^}}]*)}}", text)[1]
    return {word.strip() for word in body.split(",") if word.strip()}


def first_cells(heading):
    """The first column of the table whose head begins with `heading`."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    [begin] = [i for i, line in enumerate(lines) if line.startswith(f"| {heading} |")]
    for line in lines[begin + 2:]:
        if not line.startswith("|"):
            return
        yield line.split(" |")[0].strip("| ")


class ApiPage(unittest.TestCase):
    def test_lists_each_status_and_each_error_code(self):
        for name, path in (("StatusCode", "device/status.h"), ("Code", "core/base/result.h")):
            with self.subTest(name):
                here = [cell.strip("`") for cell in first_cells(f"`{name}`")]
                self.assertEqual(sorted(here), sorted(enumerators(path, name)))

    def test_lists_calls_of_a_machine_that_every_machine_has(self):
        concept = (ROOT / "device/machine_concept.h").read_text(encoding="utf-8")
        calls = re.findall(r"`(\w+)\(", " ".join(first_cells("call | what it does")))
        self.assertGreater(len(calls), 8)
        for call in calls:
            self.assertIn(f"m.{call}(", concept, call)

    def test_lists_each_public_call_as_it_is_declared(self):
        for section in SECTIONS:
            with self.subTest(section):
                there, here = list(wanted(section)), list(listed(section))
                self.assertGreater(len(there), 2)
                missing = sorted(set(there) - set(here))
                self.assertEqual(missing, [], "docs/api.md lacks these")

    def test_lists_nothing_else(self):
        for section in SECTIONS:
            with self.subTest(section):
                here = list(listed(section))
                self.assertEqual(sorted(set(here) - set(wanted(section))), [], "no such call")
                self.assertEqual(len(here), len(set(here)), "a call stands there twice")


if __name__ == "__main__":
    unittest.main()
