"""A source file as scripts/lint sees it: its lines, its code without comments and literals, its
functions."""

import pathlib
import re

CPP = "cpp"        # .h .hpp .cc .cuh .cu
BUILD = "build"    # CMake
SCRIPT = "script"  # Python and bash
PROSE = "prose"    # Markdown

KINDS = {".h": CPP, ".hpp": CPP, ".cc": CPP, ".cuh": CPP, ".cu": CPP, ".cmake": BUILD, ".in": BUILD,
         ".py": SCRIPT, ".sh": SCRIPT, ".md": PROSE}
BUILD_FILES = ("CMakeLists.txt", "CMakePresets.json")


class Source:
    """One file. Lines are counted from 1; `code` has the same lines as `lines`."""

    def __init__(self, path, kind, text):
        self.path = path
        self.kind = kind
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.code = blank_literals(text).split("\n") if kind == CPP else self.lines

    @classmethod
    def read(cls, root, path):
        """The file, or None if lint has nothing to say about its kind."""
        name = pathlib.PurePath(path)
        kind = BUILD if name.name in BUILD_FILES else KINDS.get(name.suffix)
        if kind is None and name.suffix:
            return None
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return None
        if kind is None:
            if not text.startswith("#!"):
                return None
            kind = SCRIPT
        return cls(path, kind, text)

    def includes(self):
        """(line, name, quoted) of every #include."""
        for number, line in enumerate(self.lines, 1):
            found = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if found and self.code[number - 1].lstrip().startswith("#"):
                yield number, found[2], found[1] == '"'


TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<end>[^()\s\\]{0,16})\(.*?\)(?P=end)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE)


def blank_literals(text):
    """The text with comments, strings and characters turned into blanks; strings keep quotes."""
    def blank(found):
        blanked = re.sub(r"[^\n]", " ", found[0])
        return f'"{blanked[1:-1]}"' if found[0].startswith('"') else blanked
    return TOKEN.sub(blank, text)


SCOPE = re.compile(r"^(?:\[\[.*?\]\]\s*)*(?:inline\s+|export\s+)?"
                   r"(?:namespace|class|struct|union|enum|extern)\b")
TEMPLATE = re.compile(r"template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")


def classify(head):
    """What a brace opens that stands behind `head`, at the level of a file or a class."""
    head = TEMPLATE.sub("", re.sub(r"\b(?:public|private|protected)\s*:", "", head)).strip()
    if SCOPE.match(head):
        return "scope"
    return "function" if ")" in head and not head.endswith(("=", ",", "(")) else "value"


def functions(source):
    """(first line, line count, name) of every function body outside other functions. A heuristic
    over braces: lambdas count with the function that they stand in."""
    stack, head, head_line, parentheses = [], "", 1, 0
    for number, line in enumerate(source.code, 1):
        if line.lstrip().startswith("#"):
            continue
        for character in line + "\n":
            if not head.strip():
                head_line = number
            if character == "{":
                free = all(kind == "scope" for kind, _, _ in stack) and parentheses == 0
                stack.append((classify(head) if free else "inner", head_line, head))
                head = "" if parentheses == 0 else head
            elif character == "}" and stack:
                kind, first, text = stack.pop()
                head = "" if parentheses == 0 else head
                if kind == "function":
                    name = re.search(r"([\w~]+)\s*\(", text)
                    yield first, number - first + 1, name[1] if name else "operator"
            elif character == ";" and parentheses == 0:
                head = ""
            else:
                parentheses += (character == "(") - (character == ")")
                head += character
