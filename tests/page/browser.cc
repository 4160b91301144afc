#include "tests/page/browser.h"

#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <signal.h>
#include <spawn.h>
#include <sstream>
#include <stdlib.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gdakit::sim {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Stands before the page's scripts. The report is made anew for every error, so that late ones are
// in it, too. It is hexadecimal: nothing in it is escaped in the dump.
constexpr std::string_view kListen = R"js(<script>
window.testReport = {said: [], errors: [], write() {
  const lines = [...this.said.map((line) => 'said ' + line),
    ...this.errors.map((line) => 'error ' + line)];
  const bytes = [...new TextEncoder().encode(lines.join('\n'))];
  document.body?.setAttribute('data-report',
    'report ' + bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(''));
}};
(() => {
  const report = window.testReport;
  const fail = (words) => {
    report.errors.push(String(words));
    report.write();
  };
  window.addEventListener('error', (event) => fail(event.message));
  window.addEventListener('unhandledrejection', (event) => fail(event.reason));
  window.addEventListener('securitypolicyviolation',
    (event) => fail('refused ' + event.blockedURI));
  console.error = (...words) => fail(words.join(' '));
})();
</script>)js";

constexpr std::string_view kHarness = R"js(
const say = (line) => window.testReport.said.push(String(line).replace(/\s+/g, ' ').trim());
const press = (key) => document.activeElement.dispatchEvent(
  new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
const current = () => document.querySelector('[aria-current]')?.id.slice(1) ?? 'none';
const count = (css) => document.querySelectorAll(css).length;
const text = (css) => document.querySelector(css)?.textContent ?? 'nothing';
)js";

// A folder of its own, gone with everything in it at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "gdakit-page-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string read_all(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<fs::path> find_browser() {
  for (const char* folder : {"/usr/bin", "/usr/local/bin", "/snap/bin"}) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const fs::path path = fs::path(folder) / name;
      if (access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return std::nullopt;
}

// The page with a listener as its first script and the test's script as its last.
std::string with_scripts(std::string page, const std::string& script) {
  page.insert(page.find("<head>") + 6, kListen);
  // In a function, so that its names do not meet those of the page.
  std::string last = "<script>(() => {";
  last += kHarness;
  last += "try {\n" + script + "\n} catch (error) { console.error(error); }\n";
  last += "window.testReport.write(); })();</script>\n";
  page.insert(page.rfind("</body>"), last);
  return page;
}

// The browser becomes the leader of a process group, and this process the parent of those in it
// that lose theirs.
std::optional<pid_t> start(const fs::path& browser, const Folder& folder) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string out = folder / "out";
  const std::string err = folder / "err";
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  std::vector<std::string> words = {browser.string(),
                                    "--headless=new",
                                    "--no-sandbox",
                                    "--disable-gpu",
                                    "--disable-dev-shm-usage",
                                    "--disable-breakpad",
                                    "--disable-crash-reporter",
                                    "--window-size=1440,900",
                                    "--virtual-time-budget=2000",
                                    "--user-data-dir=" + (folder / "profile").string(),
                                    "--dump-dom",
                                    "file://" + (folder / "page.html").string()};
  std::vector<std::string> settings = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
                                       "HOME=" + (folder / "home").string()};
  const auto pointers = [](std::vector<std::string>& of) {
    std::vector<char*> result;
    for (std::string& word : of) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
  };
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t child = 0;
  const int failed = posix_spawn(&child, browser.c_str(), &files, &attributes,
                                 pointers(words).data(), pointers(settings).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return std::nullopt;
  return child;
}

// Ends what is left of a process group and waits for it. Its orphans are ours, see start.
void end_group(pid_t group) {
  kill(-group, SIGKILL);
  while (waitpid(-group, nullptr, 0) > 0) {
  }
}

// Whether the child ended with success in time. Its process group is gone either way.
bool finish(pid_t child, std::chrono::milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  int status = 0;
  bool ended = false;
  while (!ended && Clock::now() < end) {
    ended = waitpid(child, &status, WNOHANG) == child;
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  end_group(child);
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string from_hexadecimal(std::string_view digits) {
  std::string text;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    text += static_cast<char>(std::stoi(std::string(digits.substr(at, 2)), nullptr, 16));
  }
  return text;
}

void read_report(const std::string& dom, Visit& visit) {
  constexpr std::string_view kStart = "data-report=\"report ";
  const std::size_t at = dom.rfind(kStart);
  if (at == std::string::npos) {
    visit.errors.push_back("the page left no report");
    return;
  }
  const std::size_t first = at + kStart.size();
  std::istringstream lines(from_hexadecimal(dom.substr(first, dom.find('"', first) - first)));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("said ")) visit.said.push_back(line.substr(5));
    if (line.starts_with("error ")) visit.errors.push_back(line.substr(6));
  }
}

}  // namespace

bool browser_is_installed() { return find_browser().has_value(); }

Visit visit(const std::string& page, const std::string& script, std::chrono::milliseconds limit) {
  Visit result;
  const Folder folder;
  fs::create_directories(folder / "home");
  std::ofstream(folder / "page.html") << with_scripts(page, script);
  const std::optional<pid_t> child = start(find_browser().value(), folder);
  if (!child) {
    result.errors.push_back("Chromium did not start");
    return result;
  }
  result.ended = finish(*child, limit);
  if (result.ended) read_report(read_all(folder / "out"), result);
  return result;
}

}  // namespace gdakit::sim
