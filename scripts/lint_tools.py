"""The checks of scripts/lint that other programs make: clang-format and the compiler."""

import concurrent.futures
import fnmatch
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import lint_rules
from lint_source import CPP

FORMAT_VERSION = "14"


def find_clang_format():
    """(program, None) or (None, why not). Versions format differently, so one of them judges."""
    if shutil.which(f"clang-format-{FORMAT_VERSION}"):
        return f"clang-format-{FORMAT_VERSION}", None
    if not shutil.which("clang-format"):
        return None, "there is no clang-format"
    text = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    found = re.search(r"version (\d+)", text)
    if found and found[1] == FORMAT_VERSION:
        return "clang-format", None
    return None, f"clang-format has version {found[1] if found else 'unknown'}"


def check_format(root, sources, skips):
    paths = [source.path for source in sources if source.kind == CPP]
    program, why_not = find_clang_format()
    if program is None:
        skips.append(f"format: {why_not}; formatting is judged by version {FORMAT_VERSION}")
        return []
    if not paths:
        return []
    command = [program, "--dry-run", "--style=file", *paths]
    text = subprocess.run(command, cwd=root, capture_output=True, text=True).stderr
    warning = re.compile(r"^(.+?):(\d+):\d+: warning: .*clang-format-violations", re.M)
    first = {}
    for path, line in warning.findall(text):
        first.setdefault(path, int(line))
    return [(path, line, "format", f"use {program} -i {path}") for path, line in first.items()]


# What programs include, which may be C++17.
OF_PROGRAMS = ("gdakit*.h", "core/format/*", "device/*", "host_calls/*", "nvshmem/*")
NOT_OF_PROGRAMS = ("device/machine_concept.h", "core/format/prm/*")


def standard_of(path):
    def is_one(patterns):
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)

    return "c++17" if is_one(OF_PROGRAMS) and not is_one(NOT_OF_PROGRAMS) else "c++20"


WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Werror")


def first_include(source):
    """What a source includes before it does anything else, or None."""
    if not source.is_file():  # it is generated, and nobody has
        return None
    for line in source.read_text().splitlines():
        if line.startswith("#") or (line.strip() and not line.startswith("//")):
            found = re.match(r'#include "(.+)"', line)
            return found[1] if found else None
    return None


def is_newer(path, other):
    return path.is_file() and other.is_file() and path.stat().st_mtime >= other.stat().st_mtime


def compiled_alone(root, build, headers):
    """Headers that the build has compiled alone, as they are now: a source of it includes them
    first, and was compiled by the same standard, with the same warnings, and with nothing defined
    for it that one of these headers names."""
    found = set()
    commands = build / "compile_commands.json"
    code = "\n".join(line for header in headers for line in header.code)
    named = set(re.findall(r"GDAKIT\w+", code))
    for entry in json.loads(commands.read_text()) if commands.is_file() else []:
        words = shlex.split(entry["command"])
        header = first_include(pathlib.Path(entry["directory"], entry["file"]))
        defined = {word[2:].split("=")[0] for word in words if word.startswith("-DGDAKIT")}
        is_plain = "-x" not in words and not defined & named
        built = pathlib.Path(entry["directory"], words[words.index("-o") + 1])
        if not header or not is_plain or not is_newer(built, root / header):
            continue
        if {f"-std={standard_of(header)}", *WARNINGS} <= set(words):
            found.add(header)
    return found


def write_includer(build, path, line):
    """The source below the build folder that consists of the line, or None. It is whole at any
    time, for others who lint there."""
    source = build / "lint" / f"{path}.cc"
    if not build.is_dir():
        return None
    try:
        if source.is_file() and source.read_text() == line:
            return source
        source.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=source.parent, delete=False) as new:
            new.write(line)
        os.replace(new.name, source)
    except OSError:
        return None
    return source


def compile_alone(root, compiler, path, build):
    """Compiles a file that includes nothing but this header. In a build folder that may be written
    ccache remembers it; it takes nothing without an object, and knows a file by its name."""
    flags = [f"-std={standard_of(path)}", *WARNINGS, *FOREIGN]
    flags += [f"-I{root / top}" for top in lint_rules.INCLUDE_ROOTS]
    line = f'#include "{path}"\n'
    source = write_includer(build, path, line) if build and shutil.which("ccache") else None
    if source is None:
        return subprocess.run([compiler, *flags, "-fsyntax-only", "-x", "c++", "-"], input=line,
                              capture_output=True, text=True)
    # Nobody calls what a header defines for its includer alone.
    command = ["ccache", compiler, *flags, "-Wno-unused-function", "-c", str(source), "-o",
               str(source.with_suffix(".o"))]
    same_everywhere = {"CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1"}
    return subprocess.run(command, cwd=root, env=os.environ | same_everywhere,
                          capture_output=True, text=True)


def compile_header(root, compiler, path, build):
    """The first error of a file that includes nothing but this header, or None."""
    run = compile_alone(root, compiler, path, build)
    if run.returncode == 0:
        return None
    found = re.search(r"^(.+?):(\d+):\d+: (?:fatal )?error: (.*)$", run.stderr, re.M)
    if not found:
        return path, 1, "header-alone", "use a header that compiles alone"
    where = f"{found[1].removeprefix(str(root) + '/')}:{found[2]}"
    return path, 1, "header-alone", f"use every include that it needs; {where}: {found[3]}"


# Headers of ours that need one which a machine may lack.
NEEDED = {"backends/mlx5/*": "infiniband/mlx5dv.h", "core/host/gpu/cuda_*": "cuda.h",
          "gdakit_mpi.h": "mpi.h"}
# Where they are, if the compiler does not know by itself: CUDA's place, and Debian's for MPI.
FOREIGN = [argument for folder in ("/usr/local/cuda/include", *glob.glob("/usr/include/*/mpi"))
           for argument in ("-isystem", folder)]


def has_header(compiler, header):
    command = [compiler, *FOREIGN, "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=f"#include <{header}>\n", capture_output=True,
                          text=True).returncode == 0


def check_headers(root, sources, skips, jobs, build):
    """`build`: a folder where all of it has been built, or None."""
    headers = [source for source in sources if source.path.endswith(".h")]
    paths = [source.path for source in headers]
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        skips.append("headers: there is neither g++ nor clang++")
        return []
    for pattern, header in NEEDED.items():
        needing = [path for path in paths if fnmatch.fnmatchcase(path, pattern)]
        if needing and not has_header(compiler, header):
            skips.append(f"headers: {pattern}: there is no <{header}>")
            paths = [path for path in paths if path not in needing]
    known = compiled_alone(root, build, headers) if build is not None else set()
    paths = [path for path in paths if path not in known]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda path: compile_header(root, compiler, path, build), paths)
        return [result for result in results if result is not None]
