"""The rules of scripts/lint, as tables: bans, lengths, and who may include whom."""

import fnmatch
import re
from typing import NamedTuple

import lint_prose
from lint_source import BUILD, CPP, PROSE, SCRIPT, functions

EVERYWHERE = (CPP, BUILD, SCRIPT, PROSE)
MAX_COLUMNS = 100
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70


class Ban(NamedTuple):
    """What may not stand in a file, and what stands there instead."""
    rule: str
    pattern: str
    instead: str
    kinds: tuple = (CPP,)
    only: tuple = ("*",)   # the files that the ban is for
    allowed: dict = {}     # files that are exempt: why
    comments: bool = False  # comments and strings count, too


# What this machinery must itself name.
LINT = {"scripts/lint*": "names what it bans", "tests/lint/*": "has samples of what is banned"}
PTX = {"device/cuda_machine.cuh": "the one file with inline PTX"}

BANS = (
    Ban("getenv", r"\b(?:secure_)?getenv\b", "a row of the options table, core/base/options.h",
        allowed={"core/base/options.cc": "the one reader of the environment",
                 "tests/support/settings.h": "what concerns tests alone",
                 "core/host/gpu/mps.cc": "a variable of CUDA's own is no option",
                 "tools/mps.cc": "the PATH and a variable of CUDA's own are no options",
                 "backends/softnic/uverbs/preload/shim.cc":
                     "what `gdakit verbs` hands on, in programs that are not gdakit's",
                 "tools/verbs_program.cc": "LD_PRELOAD is the system's",
                 "tools/columns.cc": "NO_COLOR is all programs' and no option of gdakit's"}),
    Ban("volatile", r"\bvolatile\b", "the Machine's relaxed accesses, or std::atomic on the host",
        allowed=PTX),
    Ban("goto", r"\bgoto\b", "a function that returns, or a loop",
        allowed={"nvshmem/include/nvshmem/detail/errors.h":
                 "NVSHMEM's macros jump to a label of the program's"}),
    Ban("unfinished", r"\b(?:TO[D]O|FIX[M]E|XX[X])\b", "the finished thing, or an issue",
        EVERYWHERE, allowed=LINT, comments=True),
    Ban("layout-cast", r"\breinterpret_cast\b", "bit_cast of core/base/bits.h",
        only=("core/format/*",)),
    Ban("compiler-if",
        r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b"
        r"(?:__\w+|_MSC_VER|GDAKIT_(?:DEVICE_CODE|TSAN|ASAN))\b",
        "a constant or a macro of core/base/annotate.h, or a template argument",
        allowed={"core/base/annotate.h": "the one place that knows which compiler is at work",
                 "core/base/assert.h": "the GPU ends a program by another function",
                 "backends/softnic/uverbs/preload/tail_call.h":
                     "tells the two compilers of a tail call in their own ways",
                 "nvshmem/include/nvshmem/nvshmem.h":
                     "has CUDA's runtime where there is one, as NVSHMEM's",
                 "sim/test.h": "says first that an older C++ will not do",
                 "gdakit.h": "likewise",
                 "gdakit_mpi.h": "likewise",
                 "nvshmem/include/nvshmem/detail/types.h":
                     "has CUDA's 16-bit types where there are some",
                 "sim/sanitizer*.h": "the sanitizers' fiber calls exist under a sanitizer only"}),
    Ban("asm", r"\b(?:asm|__asm__|__asm)\b", "an operation of the Machine; PTX has one file",
        allowed=PTX),
    Ban("bare-fence",
        r"\b(?:atomic_thread_fence|__threadfence\w*|__syncwarp|__syncthreads|atomic_ref)\b",
        "m.fence(order::X{}), m.sync_warp, or an access of the Machine that takes an order",
        only=("device/*",), allowed=PTX),
    Ban("unnamed-fence", r"\bm\.fence\(\s*(?!(?:::)?(?:gdakit::)?order::)\S",
        "a named order of device/order.h: m.fence(order::X{})",
        allowed={"device/machine_concept.h": "the concept asks for it with any order",
                 "tests/sim/*_machine_test.cc": "tests machines with orders of its own",
                 "tests/museum/*": "has orders of its own, right and wrong",
                 "bench/gpu/chain_publication.cuh": "has another library's, to compare with"}),
    Ban("relaxed-constexpr", r"--expt-relaxed-constexpr",
        "GDAKIT_HOST_DEVICE functions: nvcc silently miscompiles host functions in device code",
        (CPP, BUILD, SCRIPT), allowed=LINT, comments=True),
    Ban("using-std", r"\busing\s+namespace\s+std\s*;", "the names with std::"),
    Ban("endl", r"\bstd::endl\b", "'\\n'"),
    Ban("machine-path", r"(?<![\w.~})-])/(?:(?:work|tmp)\b(?!\.)|(?:home|root)/)",
        "a path relative to the sources, or std::filesystem::temp_directory_path()",
        EVERYWHERE,
        allowed={**LINT, "core/host/gpu/mps.cc": "where CUDA's own daemon is by default"},
        comments=True),
    Ban("tab", r"\t", "blanks", EVERYWHERE, comments=True),
    Ban("trailing-blank", r"[ \t\r]+$", "nothing", EVERYWHERE, comments=True),
    Ban("long-line", r"^.{%d}" % (MAX_COLUMNS + 1), f"at most {MAX_COLUMNS} columns",
        (CPP, BUILD, SCRIPT), allowed={"CMakePresets.json": "JSON"}, comments=True),
)

# Who may include whom, besides itself. A file belongs to the first room whose pattern it matches.
BASE, FORMAT, DEVICE, HOST = "core/base", "core/format", "device", "core/host"
MLX5, SOFTNIC, SIM = "backends/mlx5", "backends/softnic", "sim"
UVERBS = "backends/softnic/uverbs"
ALL = {BASE, FORMAT, DEVICE, HOST, MLX5, SOFTNIC, UVERBS, SIM, "backends", "sim/world", "gdakit.h",
       "host_calls", "nvshmem", "tools", "examples", "tests", "bench"}
UMBRELLA = {BASE, FORMAT, DEVICE, HOST, SOFTNIC, SIM, "backends", "sim/world"}
ROOMS = (
    ("gdakit.h", "gdakit*", UMBRELLA),
    (BASE, "core/base/*", set()),
    (FORMAT, "core/format/*", {BASE}),
    (DEVICE, "device/*", {BASE, FORMAT}),
    (HOST, "core/host/*", {BASE, FORMAT, DEVICE}),
    (MLX5, "backends/mlx5/*", {BASE, FORMAT, DEVICE, HOST}),
    # The kernel's place, which no other room of gdakit knows.
    (UVERBS, "backends/softnic/uverbs/*", {BASE, FORMAT, DEVICE, HOST, SOFTNIC}),
    (SOFTNIC, "backends/softnic/*", {BASE, FORMAT, DEVICE, HOST}),
    # The registry, the one place that knows both backends.
    ("backends", "backends/*", {BASE, FORMAT, DEVICE, HOST, MLX5, SOFTNIC}),
    # A world is a simulated job: emulator, control path and soft NIC together.
    ("sim/world", "sim/world*", {BASE, FORMAT, DEVICE, HOST, SOFTNIC, SIM}),
    ("sim/world", "sim/niclitmus*", {BASE, FORMAT, DEVICE, HOST, SOFTNIC, SIM}),
    ("sim/world", "sim/test.*", {BASE, FORMAT, DEVICE, HOST, SOFTNIC, SIM}),  # the users' header
    ("sim/world", "sim/explore.h", {BASE, FORMAT, DEVICE, HOST, SOFTNIC, SIM}),  # likewise
    (SIM, "sim/*", {BASE, FORMAT, DEVICE}),
    ("host_calls", "host_calls/*", UMBRELLA | {"gdakit.h"}),
    ("nvshmem", "nvshmem/*", UMBRELLA | {"gdakit.h", "host_calls"}),
    ("tools", "tools/*", ALL),
    ("examples", "examples/*", ALL),
    ("tests", "tests/*", ALL),
    ("bench", "bench/*", ALL),
)
# Floors inside rooms, from the ground up: a file includes what is on its own floor, and on those
# before it. A floor is what lies in a folder, or a file, and on no floor further inside.
FLOORS = (
    ("core/host/trace", "core/host/launch", "core/host/memory", "core/host/bootstrap",
     "core/host/sharing", "core/host/gpu", "core/host"),
    ("backends/softnic/objects", "backends/softnic/dma", "backends/softnic/wire",
     "backends/softnic/memory", "backends/softnic/queues", "backends/softnic/transport",
     "backends/softnic/engine", "backends/softnic/firmware", "backends/softnic/gpu",
     "backends/softnic"),
    ("sim", "sim/choice", "sim/weak", "sim/explore", "sim/litmus", "sim/world",
     "sim/world/scenarios", "sim/world/mutants", "sim/niclitmus", "sim/test.h", "sim/test.cc",
     "sim/explore.h"),
    ("backends/softnic/uverbs", "backends/softnic/uverbs/cm", "backends/softnic/uverbs/preload"),
    ("nvshmem/include", "nvshmem/library"),
    ("tools", "tools/check"),
)
# Where a quoted path begins. Programs that NVSHMEM's headers are installed for name them as
# nvshmem/..., and so do we.
INCLUDE_ROOTS = ("", "nvshmem/include/")
CUDA_FILES = ("*.cu", "*.cuh", "core/host/gpu/cuda_*")
CUDA_HEADERS = re.compile(r"cuda|cooperative_groups|nv/|nccl|cub/")
# Our headers that include CUDA's, and who may include these besides CUDA_FILES.
CUDA_PARTS = re.compile(r"core/host/gpu/cuda_\w+\.h|.*\.cuh")
CUDA_USERS = {
    "gdakit.h": "launches a program's kernels, where nvcc compiles it",
    "backends/softnic/gpu/copy_context*": "a context and streams of the NIC's own",
    "nvshmem/include/nvshmem/nvshmem.h": "has CUDA's runtime where there is one, as NVSHMEM's",
    "nvshmem/include/nvshmem/detail/types.h": "has CUDA's 16-bit types where there are some",
    "nvshmem/include/nvshmem/detail/device_or_host.h":
        "picks the Machine by the compiler that is at work",
}
VERBS_FILES = ("backends/mlx5/*", "tests/mlx5/*", "tests/verbs/dc/*", "tests/verbs/gpu/*",
               "tests/verbs/mkeys/*", "tests/verbs/verify/*")


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def room_of(path):
    """(name, rooms it may include) of a file's room, or None."""
    for name, pattern, below in ROOMS:
        if matches(path, (pattern,)):
            return name, below
    return None


def floor_of(path):
    """The floor that a file is on, or None."""
    around = [floor for floors in FLOORS for floor in floors
              if f"{path}/".startswith(f"{floor}/")]
    return max(around, key=len, default=None)


def check_floors(source, number, target):
    own, other = floor_of(source.path), floor_of(target)
    for floors in FLOORS:
        if own in floors and other in floors and floors.index(other) > floors.index(own):
            below = ", ".join(floors[:floors.index(own)]) or "nothing"
            yield (source.path, number, "include-floor",
                   f"use what lies below {own} ({below}); it may not see {other}")


def check_bans(source):
    for ban in BANS:
        if source.kind not in ban.kinds or matches(source.path, ban.allowed):
            continue
        if not matches(source.path, ban.only):
            continue
        pattern = re.compile(ban.pattern)
        for number, line in enumerate(source.lines if ban.comments else source.code, 1):
            if pattern.search(line):
                yield source.path, number, ban.rule, f"use {ban.instead}"


def check_lengths(source):
    if source.kind in (CPP, SCRIPT) and len(source.lines) > MAX_FILE_LINES:
        yield (source.path, len(source.lines), "long-file",
               f"use files of at most {MAX_FILE_LINES} lines, one idea each; split it")
    if source.kind != CPP:
        return
    for first, count, name in functions(source):
        if count > MAX_FUNCTION_LINES:
            yield (source.path, first, "long-function",
                   f"use functions of at most {MAX_FUNCTION_LINES} lines; {name} has {count}")


def check_pragma_once(source):
    if source.path.endswith((".h", ".hpp", ".cuh")) and "#pragma once" not in source.code:
        yield source.path, 1, "pragma-once", "use #pragma once in every header"


def check_quoted(root, source, number, name):
    paths = [f"{top}{name}" for top in INCLUDE_ROOTS if (root / f"{top}{name}").is_file()]
    if not paths:
        yield (source.path, number, "include-root",
               f'use a path from the root of the sources; there is no "{name}"')
        return
    yield from check_floors(source, number, paths[0])
    room, target = room_of(source.path), room_of(paths[0])
    if room is None or target is None or target[0] == room[0] or target[0] in room[1]:
        return
    below = ", ".join(sorted(room[1])) or "nothing"
    yield (source.path, number, "include-graph",
           f"use what lies below {room[0]} ({below}); it may not see {target[0]}")


def check_includes(root, source):
    for number, name, quoted in source.includes():
        if quoted:
            yield from check_quoted(root, source, number, name)
        if not quoted and CUDA_HEADERS.match(name) and not matches(source.path, CUDA_FILES):
            yield (source.path, number, "include-cuda",
                   "use CUDA in .cu, .cuh and core/host/gpu/cuda_* only")
        if quoted and CUDA_PARTS.match(name) and not matches(
                source.path, (*CUDA_FILES, *CUDA_USERS)):
            yield (source.path, number, "include-cuda",
                   f"use what has no CUDA in it, or a row of CUDA_USERS; {name} includes CUDA's")
        if name.startswith("infiniband/") and not matches(source.path, VERBS_FILES):
            yield source.path, number, "include-verbs", f"use verbs in {VERBS_FILES} only"


def check(root, sources):
    """All findings of the tables: (path, line, rule, what to use instead)."""
    findings = []
    for source in sources:
        findings += check_bans(source)
        findings += check_lengths(source)
        if source.kind == CPP:
            findings += check_pragma_once(source)
            findings += check_includes(root, source)
        elif source.kind == PROSE:
            findings += lint_prose.check(root, source)
    return findings
