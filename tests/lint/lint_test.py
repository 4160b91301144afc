#!/usr/bin/env python3
"""Every rule of scripts/lint finds its bad sample, at its line, and passes its good one.

Writes the samples into scratch trees and runs scripts/lint on them. Prints what unittest prints.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lint"
HEADER = "#pragma once\n"


WALK = "| # | file | function | what happens |\n|---|---|---|---|\n"


def lines(count, line="int x;"):
    return (line + "\n") * count


# (rule, path, text, line of the finding)
BAD = (
    ("getenv", "core/host/a.cc", 'auto* home = std::getenv("HOME");\n', 1),
    ("getenv", "tools/a.cc", "auto* home = secure_getenv(name);\n", 1),
    ("volatile", "device/a.h", HEADER + "volatile int* flag;\n", 2),
    ("goto", "core/base/a.cc", "void f() {\n  goto end;\n}\n", 2),
    ("unfinished", "core/base/b.cc", "int x;  // TODO: more\n", 1),
    ("unfinished", "cmake/a.cmake", "# FIXME\n", 1),
    ("unfinished", "docs/a.md", "Text.\nXXX\n", 2),
    ("layout-cast", "core/format/a.h", HEADER + "auto* p = reinterpret_cast<int*>(q);\n", 2),
    ("compiler-if", "device/b.h", HEADER + "#ifdef __CUDA_ARCH__\n#endif\n", 2),
    ("compiler-if", "sim/a.cc", "#if defined(__clang__)\n#endif\n", 1),
    ("compiler-if", "sim/b.cc", "#if GDAKIT_TSAN\n#endif\n", 1),
    ("asm", "device/c.h", HEADER + 'void f() { asm("nop"); }\n', 2),
    ("asm", "sim/c.cc", 'void f() { __asm__("nop"); }\n', 1),
    ("bare-fence", "device/d.h", HEADER + "void f() { __threadfence_system(); }\n", 2),
    ("bare-fence", "device/e.h", HEADER + "void f() { __syncwarp(); }\n", 2),
    ("bare-fence", "device/f.h", HEADER + "auto r = std::atomic_ref<int>(x);\n", 2),
    ("bare-fence", "device/g.cuh", HEADER + "void f() { std::atomic_thread_fence(o); }\n", 2),
    ("unnamed-fence", "device/h.h", HEADER + "void f() { m.fence(Release{}); }\n", 2),
    ("relaxed-constexpr", "cmake/b.cmake", "set(FLAGS --expt-relaxed-constexpr)\n", 1),
    ("using-std", "tests/base/a_test.cc", "using namespace std;\n", 1),
    ("endl", "tools/b.cc", "void f() { out << std::endl; }\n", 1),
    ("machine-path", "tests/base/b_test.cc", 'open("/tmp/gdakit.log");\n', 1),
    ("machine-path", "tests/base/c_test.cc", "// Lies in /work/main.\n", 1),
    ("machine-path", "scripts/a.sh", "cd /home/me/gdakit\n", 1),
    ("tab", "core/base/c.cc", "void f() {\n\tg();\n}\n", 2),
    ("trailing-blank", "core/base/d.cc", "int x; \n", 1),
    ("trailing-blank", "docs/b.md", "Text.  \n", 1),
    ("long-line", "core/base/e.cc", "//" + "x" * 99 + "\n", 1),
    ("long-line", "scripts/b.sh", "#" + "x" * 100 + "\n", 1),
    ("pragma-once", "core/base/f.h", "int f();\n", 1),
    ("pragma-once", "device/i.cuh", "// #pragma once\n", 1),
    ("long-file", "core/base/g.cc", lines(501), 501),
    ("long-function", "core/base/h.cc", "int x;\n\nvoid f() {\n" + lines(69) + "}\n", 3),
    ("long-function", "core/base/i.cc",
     "namespace a {\nclass B {\n  void f() const {\n" + lines(69) + "  }\n};\n}\n", 3),
    ("long-function", "core/base/j.cc",
     "template <class T>\nvoid f(T x = {}) {\n" + lines(69) + "}\n", 1),
    ("include-root", "core/base/k.cc", '#include "result.h"\n', 1),
    ("include-graph", "core/base/l.cc", '#include "core/format/ok.h"\n', 1),
    ("include-graph", "core/format/b.h", HEADER + '#include "device/ok.h"\n', 2),
    ("include-graph", "device/j.h", HEADER + '#include "core/host/ok.h"\n', 2),
    ("include-graph", "core/host/b.cc", '#include "backends/softnic/ok.h"\n', 1),
    ("include-graph", "backends/mlx5/a.cc", '#include "backends/softnic/ok.h"\n', 1),
    ("include-graph", "backends/softnic/a.cc", '#include "backends/mlx5/ok.h"\n', 1),
    ("include-graph", "sim/d.cc", '#include "core/host/ok.h"\n', 1),
    ("include-graph", "backends/softnic/b.cc", '#include "sim/ok.h"\n', 1),
    ("include-graph", "core/host/c.cc", '#include "tests/base/ok.h"\n', 1),
    ("include-graph", "core/host/f.cc", '#include "gdakit.h"\n', 1),
    ("include-graph", "backends/other.cc", '#include "gdakit.h"\n', 1),
    ("include-floor", "core/host/launch/a.cc", '#include "core/host/bootstrap/ok.h"\n', 1),
    ("include-floor", "core/host/gpu/a.cc", '#include "core/host/ok.h"\n', 1),
    ("include-floor", "backends/softnic/engine/a.cc", '#include "backends/softnic/gpu/ok.h"\n', 1),
    ("include-floor", "sim/weak/a.cc", '#include "sim/explore/ok.h"\n', 1),
    ("include-floor", "sim/e.cc", '#include "sim/weak/ok.h"\n', 1),
    ("include-floor", "sim/world/a.cc", '#include "sim/test.h"\n', 1),
    ("include-floor", "nvshmem/include/nvshmem/a.h",
     HEADER + '#include "nvshmem/library/ok.h"\n', 2),
    ("include-cuda", "core/host/d.cc", "#include <cuda_runtime.h>\n", 1),
    ("include-cuda", "backends/softnic/c.cc", '#include "core/host/gpu/cuda_memory.h"\n', 1),
    ("include-cuda", "core/host/g.cc", '#include "device/ok.cuh"\n', 1),
    ("include-verbs", "core/host/e.cc", "#include <infiniband/verbs.h>\n", 1),
    ("link", "docs/c.md", "Read [this](nowhere.md).\n", 1),
    ("link", "docs/d.md", "# One heading\n\n[Here](#another-heading)\n", 3),
    ("link", "e.md", "[There](docs/linked.md#no-heading) and [there](docs/linked.md)\n", 1),
    ("path", "docs/f.md", "`device/nowhere.h` has it.\n", 1),
    ("walk", "docs/g.md", WALK + "| 1 | `nowhere.h` | `walked` | text |\n", 3),
    ("walk", "docs/h.md", WALK + "| 1 | `device/walk.h` | `elsewhere` | text |\n", 3),
    ("walk", "docs/i.md", WALK + "| 1 | `device/walk.h` | `called` | text |\n", 3),
    ("walk", "docs/j.md", WALK + "| 1 | `device/walk.h` | `Other::walked` | text |\n", 3),
    ("walk", "docs/k.md", WALK + "| 1 | `device/walk.h`, `device/ok.h` | `walked` | text |\n", 3),
    ("walk", "docs/l.md", WALK + "| 1 | `device/walk.h` | | text |\n", 3),
)

# (path, text): no rule finds anything.
GOOD = (
    ("core/base/options.cc", "auto* home = std::getenv(name);\n"),
    ("core/base/annotate.h", HEADER + "#if defined(__CUDACC__)\n#endif\n"),
    ("core/base/assert.h",
     HEADER + "#if GDAKIT_DEVICE_CODE\n#endif\n#if defined(NDEBUG)\n#endif\n"),
    ("sim/sanitizer_fiber.h", HEADER + "#if GDAKIT_TSAN\n#endif\n"),
    ("device/cuda_machine.cuh",
     HEADER + 'void f() {\n  asm volatile("membar.sys;");\n  __threadfence();\n}\n'),
    ("core/base/words.cc",
     "// volatile, goto, asm and std::endl are words here; `using namespace std;` too.\n"
     'const char* text = "volatile goto asm /* " "std::endl";\n'
     "const char* raw = R\"(goto \" volatile)\";\n"
     "int big = 1'000'000;  /* goto\n volatile */\n"
     "char quote = '\"'; int volatile_count; int gotos;\n"),
    ("core/base/unroll.h", HEADER + "void f() {\n#pragma unroll\n  for (;;) g();\n}\n"),
    ("core/base/option_if.h", HEADER + "#if defined(GDAKIT_HAVE_GDRCOPY)\n#endif\n"),
    ("core/host/cast.cc", "auto* p = reinterpret_cast<int*>(q);\n"),
    ("sim/fence.cc", "void f() { std::atomic_thread_fence(std::memory_order_seq_cst); }\n"),
    ("device/fence.h",
     HEADER + "void f() {\n  m.fence(order::X{});\n  m.fence(gdakit::order::X{});\n}\n"
     "void g() { pe.fence(); }\n"),
    ("tests/base/paths_test.cc",
     'auto a = "build/tmp/x"; auto b = "docs/work"; auto c = "/tmpfs"; auto d = "~/work";\n'
     "auto e = std::filesystem::temp_directory_path();\n"),
    ("docs/words.md", "A method is todo-free; mkdtemp takes gdakit-XXXXXX.\n"),
    ("docs/long.md", "x" * 300 + "\n"),
    ("docs/linked.md",
     "# A `name`, and: more\n## Twice\n## Twice\n[Up](../core/base/ok.h) [web](https://a.b/c)\n"
     "[a](#a-name-and-more) [b](#twice-1) [folder](../docs)\n"
     "`[x](y)` and `device/ok.h` and `device/{a,b}.h`\n"
     "```cpp\n// [no link](nowhere.md)\n[](int x) {}\n```\n"),
    ("device/walk.h",
     HEADER + "struct Walk {\n  void walked() { called(); }\n};\nvoid Walk::run() {\n}\n"),
    ("docs/walk.md", WALK + "| 1 | `device/walk.h` | `walked`, `Walk::run` | text |\n"),
    ("data/table.csv", "a,b \n" + "x" * 300 + "\n"),
    ("core/base/limit.cc", "//" + "x" * 98 + "\n" + lines(499)),
    ("core/base/function.cc", "void f() {\n" + lines(68) + "}\n"),
    ("core/base/table.cc", "const int kTable[] = {\n" + lines(90, "1,") + "};\n"),
    ("core/base/class.h", HEADER + "struct alignas(64) A {\n" + lines(90) + "};\n"),
    ("core/base/enum.h", HEADER + "enum class E : int {\n" + lines(90, "a,") + "};\n"),
    ("core/base/ok.h", HEADER),
    ("core/format/ok.h", HEADER + '#include "core/base/ok.h"\n'),
    ("device/ok.h", HEADER + '#include "core/format/ok.h"\n'),
    ("core/host/ok.h", HEADER + '#include "device/ok.h"\n'),
    ("core/host/launch/ok.h", HEADER),
    ("core/host/bootstrap/ok.h", HEADER + '#include "core/host/launch/ok.h"\n'),
    ("core/host/top.cc", '#include "core/host/bootstrap/ok.h"\n#include "core/host/ok.h"\n'),
    ("core/host/gpu/cuda_memory.cc", "#include <cuda_runtime.h>\n"),
    ("core/host/gpu/cuda_memory.h", HEADER),
    ("backends/softnic/gpu/copy_context.cc", '#include "core/host/gpu/cuda_memory.h"\n'),
    ("device/kernel.cu", "#include <cuda.h>\n"),
    ("device/ok.cuh", HEADER),
    ("backends/softnic/ok.h", HEADER + '#include "core/host/ok.h"\n'),
    ("backends/mlx5/ok.h", HEADER + '#include "core/host/ok.h"\n#include <infiniband/mlx5dv.h>\n'),
    ("backends/registry.cc",
     '#include "backends/mlx5/ok.h"\n#include "backends/softnic/ok.h"\n'),
    ("gdakit.h", HEADER + '#include "backends/ok.h"\n#include "sim/ok.h"\n'),
    ("backends/ok.h", HEADER + '#include "core/host/ok.h"\n'),
    ("gdakit.cc", '#include "backends/ok.h"\n#include "gdakit.h"\n'),
    ("sim/ok.h", HEADER + '#include "device/ok.h"\n'),
    ("backends/softnic/gpu/ok.h", HEADER),
    ("sim/weak/ok.h", HEADER + '#include "sim/ok.h"\n'),
    ("sim/explore/ok.h", HEADER + '#include "sim/weak/ok.h"\n'),
    ("sim/test.h", HEADER + '#include "sim/explore/ok.h"\n'),
    ("nvshmem/include/nvshmem/ok.h", HEADER),
    ("nvshmem/library/ok.h", HEADER + '#include "nvshmem/ok.h"\n'),
    ("sim/world.cc", '#include "backends/softnic/ok.h"\n#include "core/host/ok.h"\n'),
    ("tests/base/ok.h", HEADER),
    ("tests/sim/all_test.cc", '#include "backends/mlx5/ok.h"\n#include "sim/ok.h"\n'),
    ("tools/all.cc", '#include "backends/softnic/ok.h"\n#include "sim/ok.h"\n'),
)


def run_lint(tree, *arguments):
    """(exit status, {(path, line, rule): message}, output)."""
    run = subprocess.run([sys.executable, LINT, "--root", tree, *arguments], capture_output=True,
                         text=True)
    found = {}
    for line in run.stdout.splitlines():
        match = re.match(r"(.+?):(\d+): ([a-z-]+): (.*)$", line)
        if match:
            found[match[1], int(match[2]), match[3]] = match[4]
    return run.returncode, found, run.stdout + run.stderr


class LintTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)

    def write(self, path, text):
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_text(text, encoding="utf-8")

    def test_good_samples_pass(self):
        for path, text in GOOD:
            self.write(path, text)
        status, found, output = run_lint(self.tree, "--only", "rules")
        self.assertEqual(found, {}, output)
        self.assertEqual(status, 0)

    def test_bad_samples_are_found_and_nothing_else(self):
        for path, text in GOOD:
            self.write(path, text)
        for _, path, text, _ in BAD:
            self.write(path, text)
        status, found, _ = run_lint(self.tree, "--only", "rules")
        self.assertEqual(set(found), {(path, line, rule) for rule, path, _, line in BAD})
        self.assertEqual(status, 1)
        for message in found.values():
            self.assertTrue(message.startswith("use "), message)

    def test_every_rule_has_a_bad_sample(self):
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(LINT.parent))
        import lint_rules
        text = pathlib.Path(lint_rules.__file__).read_text(encoding="utf-8")
        rules = {ban.rule for ban in lint_rules.BANS}
        rules |= set(re.findall(r'"((?:long|include|pragma)-\w+)"', text))
        rules |= {"link", "path", "walk"}
        self.assertEqual(rules, {rule for rule, _, _, _ in BAD})

    def test_only_named_files_are_read(self):
        self.write("a.cc", "int x; \n")
        self.write("b.cc", "int x; \n")
        _, found, _ = run_lint(self.tree, "--only", "rules", "b.cc")
        self.assertEqual(set(found), {("b.cc", 1, "trailing-blank")})

    def test_git_ignored_files_are_not_read(self):
        subprocess.run(["git", "init", "--quiet", self.tree], check=True)
        self.write(".gitignore", "generated/\n")
        self.write("generated/a.cc", "int x; \n")
        self.write("untracked.cc", "int x; \n")
        _, found, output = run_lint(self.tree, "--only", "rules")
        self.assertEqual(set(found), {("untracked.cc", 1, "trailing-blank")}, output)

    def test_format_is_that_of_the_tree(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("good.cc", "int f() { return 1; }\n")
        self.write("bad.cc", "int x;\nint f() {return 1;}\n")
        status, found, output = run_lint(self.tree, "--only", "format")
        if status == 77:
            self.skipTest(output.splitlines()[0])
        self.assertEqual(set(found), {("bad.cc", 2, "format")}, output)
        self.assertEqual(status, 1)

    def test_headers_compile_alone(self):
        if not (shutil.which("g++") or shutil.which("clang++")):
            self.skipTest("no compiler")
        self.write("good.h", HEADER + "#include <string>\ninline std::string f() { return {}; }\n")
        self.write("bad.h", HEADER + "inline std::string f() { return {}; }\n")
        status, found, output = run_lint(self.tree, "--only", "headers")
        self.assertEqual(set(found), {("bad.h", 1, "header-alone")}, output)
        self.assertEqual(status, 1)

    def test_headers_that_a_build_compiled_alone_are_not_compiled_again(self):
        if not (shutil.which("g++") or shutil.which("clang++")):
            self.skipTest("no compiler")
        strict = "-Wall -Wextra -Wshadow -Werror"
        commands = {"alone": strict + " -std=c++20", "defined": strict + " -DGDAKIT_X -std=c++20",
                    "beside": strict + " -DGDAKIT_Y=1 -std=c++20",
                    "lenient": "-Wall -std=c++20", "older": strict + " -std=c++17",
                    "second": strict + " -std=c++20", "unbuilt": strict + " -std=c++20"}
        entries = []
        for name, words in commands.items():
            name_of_it = "#if defined(GDAKIT_X)\n#endif\n" if name == "defined" else ""
            self.write(f"sim/{name}.h",
                       HEADER + name_of_it + "inline std::string f() { return {}; }\n")
            first = "#include <string>\n" if name == "second" else ""
            self.write(f"sim/{name}.cc", f'// What it is.\n\n{first}#include "sim/{name}.h"\n')
            if name != "unbuilt":
                self.write(f"build/{name}.o", "")
            entries.append({"directory": str(self.tree), "file": f"sim/{name}.cc",
                            "command": f"c++ {words} -o build/{name}.o -c sim/{name}.cc"})
        self.write("build/compile_commands.json", json.dumps(entries))
        status, found, output = run_lint(self.tree, "--only", "headers", "--built",
                                         self.tree / "build")
        self.assertEqual(set(found), {(f"sim/{name}.h", 1, "header-alone")
                                      for name in commands if name not in ("alone", "beside")},
                         output)
        self.assertIn("sim/second.h:2: ", output)
        self.assertEqual(status, 1)

    def test_headers_of_programs_compile_as_cxx17(self):
        if not (shutil.which("g++") or shutil.which("clang++")):
            self.skipTest("no compiler")
        newer = HEADER + "#include <span>\ninline int f(std::span<const int> a) { return a[0]; }\n"
        self.write("sim/of_tests.h", newer)
        self.write("device/of_programs.h", newer)
        status, found, output = run_lint(self.tree, "--only", "headers")
        self.assertEqual(set(found), {("device/of_programs.h", 1, "header-alone")}, output)
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
