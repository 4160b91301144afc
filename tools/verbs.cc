// gdakit verbs: runs a program that finds soft ConnectXes by the distribution's own libibverbs.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "backends/softnic/uverbs/spec.h"
#include "backends/softnic/uverbs/sysfs.h"
#include "tools/command.h"

namespace gdakit::tools {
namespace {

namespace uverbs = softnic::uverbs;

struct VerbsOptions {
  int nics = 1;
  int model = 7;
  std::string link = "roce";
  std::string fabric = "default";
  std::vector<std::string> command;  // the marker of the program, and the program
};

constexpr const char* kLibrary = "libgdakit-verbs.so";

int fail(const std::string& what, int status = kFailed) {
  std::cerr << "gdakit verbs: " << what << '\n';
  return status;
}

// Beside this command, where it is installed or where it was built.
Result<std::string> find_library() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* const place : {GDAKIT_VERBS_INSTALLED, GDAKIT_VERBS_BUILT}) {
    const auto path = (folder / place / kLibrary).lexically_normal();
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return Error(Code::not_found, std::string(kLibrary) + " lies neither in " +
                                    (folder / GDAKIT_VERBS_INSTALLED).lexically_normal().string() +
                                    " nor in the build folder; install gdakit whole");
}

// As a word of the shell that is nothing but itself.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

using Variables = std::vector<std::pair<std::string, std::string>>;

Result<Variables> variables_for(const VerbsOptions& options) {
  const Result<uverbs::Spec> spec = uverbs::Spec::parse(
      "nics=" + std::to_string(options.nics) + ",model=" + std::to_string(options.model) +
      ",link=" + options.link + ",fabric=" + options.fabric);
  if (!spec) return spec.error();
  const Result<std::string> library = find_library();
  if (!library) return library.error();
  if (library->find_first_of(" :") != std::string::npos) {
    return Error(Code::unavailable,
                 *library +
                     ": LD_PRELOAD takes no path with a blank or a colon; install gdakit "
                     "elsewhere");
  }
  const Result<std::string> folder = uverbs::sysfs_folder(*spec);
  if (!folder) return folder.error();
  const char* const preloaded = std::getenv("LD_PRELOAD");
  const std::string others = preloaded == nullptr ? "" : std::string(":") + preloaded;
  return Variables{{"LD_PRELOAD", *library + others},
                   {uverbs::kSpecVariable, spec->text()},
                   {uverbs::kSysfsVariable, *folder}};
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int error = errno;
  return fail(command[0] + ": " + std::strerror(error),
              error == ENOENT ? kNotFound : kNotExecutable);
}

int run_verbs(const VerbsOptions& options) {
  if (options.command.size() < 2 || options.command.front() != kProgramFollows) {
    return fail("name a program behind --: gdakit verbs -- ibv_devinfo", kBadUsage);
  }
  const Result<Variables> variables = variables_for(options);
  if (!variables) return fail(variables.error().message());
  for (const auto& [name, value] : *variables) ::setenv(name.c_str(), value.c_str(), 1);
  return become({options.command.begin() + 1, options.command.end()});
}

int print_environment(const VerbsOptions& options) {
  const Result<Variables> variables = variables_for(options);
  if (!variables) return fail(variables.error().message());
  for (const auto& [name, value] : *variables) {
    std::cout << "export " << name << '=' << quoted(value) << '\n';
  }
  return 0;
}

}  // namespace

Command add_verbs(CLI::App& parent) {
  auto options = std::make_shared<VerbsOptions>();
  CLI::App* const app =
      parent.add_subcommand("verbs", "Run any program of RDMA verbs on soft ConnectXes");
  app->add_option("--nics", options->nics, "How many, 1 to 16: mlx5_0, mlx5_1, ...");
  app->add_option("--model", options->model, "ConnectX-6, 7 or 8");
  app->add_option("--link", options->link, "The link layer, roce or ib");
  app->add_option("--fabric", options->fabric,
                  "The fabric by its name: programs of one user and host meet that name the same");
  app->allow_extras(false);
  app->add_option("command", options->command, "-- and the program with its arguments, or env");
  app->positionals_at_end();
  app->footer(
      "\nEnvironment: `gdakit verbs env` prints what the program is given, for those who start\n"
      "programs by other means: eval \"$(gdakit verbs env)\"; ibv_devices\n");
  return {app, [options] {
            if (options->command == std::vector<std::string>{"env"}) {
              return print_environment(*options);
            }
            return run_verbs(*options);
          }};
}

}  // namespace gdakit::tools
