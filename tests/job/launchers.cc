#include "tests/job/launchers.h"

#include <cstdlib>
#include <map>
#include <sys/wait.h>
#include <utility>

#include <gtest/gtest.h>

namespace gdakit::testing_job {
namespace {

// What scripts/with-slurm exits with where there can be no Slurm.
constexpr int kCannot = 77;

using Words = std::vector<std::string>;

bool succeeds(const std::string& shell_command) {
  return std::system((shell_command + " >/dev/null 2>&1").c_str()) == 0;
}

// Ours and its users' libraries are not made for the sanitizers: what these say of them is nothing
// that a test of gdakit should hear.
const Words kWithForeignLibraries = {
    "env", "ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0",
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1"};

const std::map<std::string, Words>& commands() {
  static const std::map<std::string, Words> table = {
      {"gdakit", {GDAKIT_COMMAND, "run", "-n"}},
      {"mpirun", {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"}},
      {"prterun",
       {"prterun", "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "-n"}},
      {"torchrun", {GDAKIT_SOURCES "/tests/job/like_torchrun"}},
      {"slurm", {GDAKIT_SOURCES "/scripts/with-slurm", "srun", "--overcommit", "-n"}},
      {"slurm_pmix",
       {GDAKIT_SOURCES "/scripts/with-slurm", "srun", "--mpi=pmix", "--overcommit", "-n"}}};
  return table;
}

std::string program_of(const std::string& launcher) {
  if (launcher != "pmix") return launcher;
  return succeeds("command -v prterun") ? "prterun" : "mpirun";
}

}  // namespace

std::optional<std::string> launcher_missing(const std::string& launcher) {
  const std::string program = program_of(launcher);
  if (!commands().contains(program)) {
    ADD_FAILURE() << "there is no launcher " << launcher;
    return "there is no launcher " + launcher;
  }
  const bool pmix = program == "mpirun" || program == "prterun" || launcher == "slurm_pmix";
  if (pmix && GDAKIT_WITH_PMIX == 0) return "gdakit was built without PMIx (Debian: libpmix-dev)";
  if (program == "mpirun" && !succeeds("mpirun --version | grep 'Open MPI'")) {
    return "there is no mpirun of Open MPI in PATH (Debian: openmpi-bin)";
  }
  if (program == "torchrun" && !succeeds("command -v python3")) return "there is no python3";
  return std::nullopt;
}

std::vector<std::string> launch_words(const std::string& launcher, int size, const Words& program) {
  Words words = commands().at(program_of(launcher));
  words.push_back(std::to_string(size));
  if (launcher != "gdakit" && launcher != "torchrun") {
    words.insert(words.end(), kWithForeignLibraries.begin(), kWithForeignLibraries.end());
  }
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

std::optional<Outcome> launch_job(const std::string& launcher, int size, const Words& program,
                                  std::string& why_not) {
  if (const auto missing = launcher_missing(launcher)) {
    why_not = *missing;
    return std::nullopt;
  }
  Outcome outcome = command(launch_words(launcher, size, program));
  if (launcher.starts_with("slurm") && outcome.status == kCannot) {
    why_not = outcome.errors;
    return std::nullopt;
  }
  return outcome;
}

}  // namespace gdakit::testing_job
