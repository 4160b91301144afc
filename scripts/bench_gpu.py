"""The part of scripts/bench that runs programs on a GPU: bench/gpu, and moe_dispatch."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_GPU = 77
LIMIT_S = 600  # of one program
JOBS = (4, 8)  # PEs of moe_dispatch
TIMES = re.compile(r"^a step of (\d+) tokens? a PE, ([\d.]+) MB each way: "
                   r"dispatch ([\d.]+) us, combine ([\d.]+) us$", re.MULTILINE)


def run_limited(command):
    """(status, stdout and stderr); a program that hangs is ended, status 124."""
    try:
        run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return 124, (late.stdout or b"").decode(errors="replace")
    return run.returncode, run.stdout


def find_programs(folder, name_filter):
    """The benchmarks: in a build folder those of bench/gpu, in any other all that it has."""
    inside = folder / "bench" / "gpu"
    return find_in(inside if inside.is_dir() else folder, name_filter)


def find_in(folder, name_filter):
    return sorted(path for path in folder.glob("*_bench")
                  if path.is_file() and re.search(name_filter, path.name))


def run_program(program, quick):
    """(status, report or None). The program prints its tables itself."""
    with tempfile.TemporaryDirectory() as scratch:
        figures = pathlib.Path(scratch) / "figures.json"
        command = [program, "--json", figures] + (["--quick"] if quick else [])
        status, output = run_limited(command)
        print(f"\n== {program.name}\n{output}", end="", flush=True)
        if status != 0 or not figures.exists():
            return status or 1, None
        return 0, json.loads(figures.read_text(encoding="utf-8"))


def moe_row(program, pes, quick):
    """(status, row of the table of moe_dispatch, or None)."""
    command = [program, "--pes", str(pes), "--batch", "128", "--hidden", "7168", "--top-k", "8"]
    if quick:
        command += ["--tokens", str(128 * pes)]
    if not pathlib.Path("/usr/share/common-licenses/GPL-3").exists():
        command += ["--text", ROOT / "LICENSE"]
    status, output = run_limited(command)
    print(f"\n== {program.name} --pes {pes}\n{output}", end="", flush=True)
    times = TIMES.search(output)
    if status != 0 or not times:
        return status or 1, None
    where = output.splitlines()[0]
    if not where.startswith("on GPU"):
        return NO_GPU, None
    return 0, [pes, where, int(times[1]), *map(float, times.groups()[1:]), "verified:" in output]


def run_moe(program, quick):
    """(status, report or None) of the example with 4 and 8 PEs."""
    rows = []
    for pes in JOBS:
        status, row = moe_row(program, pes, quick)
        if row is None:
            return status, None
        rows.append(row)
    heads = (("PEs", ""), ("where", ""), ("tokens of a PE", ""), ("each way", "MB"),
             ("dispatch", "us"), ("combine", "us"), ("verified", ""))
    columns = [{"name": name, "unit": unit} for name, unit in heads]
    table = {"name": "moe_dispatch", "title": "moe_dispatch: hidden 7168, top-8, 32 experts",
             "columns": columns, "rows": rows}
    return 0, {"bench": "moe_dispatch", "tables": [table], "notes": []}


def run(arguments, folder, figures):
    """Exit status; the reports go to `figures` by program."""
    programs = [(path, run_program) for path in find_programs(folder, arguments.filter)]
    for example in (folder / "examples" / "moe_dispatch", folder / "moe_dispatch"):
        if example.is_file() and re.search(arguments.filter, example.name):
            programs.append((example, run_moe))
    if not programs:
        return f"scripts/bench: there is no benchmark of the GPU in {folder}"
    statuses = set()
    for path, act in programs:
        status, report = act(path, arguments.quick)
        statuses.add(status)
        if status not in (0, NO_GPU):
            print(f"{path.name} failed with status {status}", file=sys.stderr)
        if report is not None:
            figures.add(path.name, report)
    return 1 if statuses - {0, NO_GPU} else max(statuses)
