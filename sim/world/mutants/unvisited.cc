#include "sim/world/mutants/unvisited.h"

#include <algorithm>
#include <regex>

#include "core/base/files.h"

namespace gdakit::sim::mutants {
namespace {

namespace fs = std::filesystem;

// Comments become blanks, so that lines and columns stay.
std::string without_comments(std::string text) {
  for (std::size_t at = 0; (at = text.find("//", at)) != std::string::npos;) {
    while (at < text.size() && text[at] != '\n') text[at++] = ' ';
  }
  return text;
}

std::size_t closing_bracket(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return text.size() - 1;
}

std::uint32_t line_of(const std::string& text, std::size_t at) {
  return 1 + static_cast<std::uint32_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

std::string line_at(const std::string& text, std::size_t at) {
  const std::size_t before = text.rfind('\n', at);
  const std::size_t begin = text.find_first_not_of(" \n", before == text.npos ? 0 : before);
  return text.substr(begin, text.find('\n', at) - begin);
}

bool is_visited(const std::string& file, const MachineCall& call,
                const std::vector<OrderSite>& visited) {
  return std::any_of(visited.begin(), visited.end(), [&](const OrderSite& site) {
    return site.key.file == file && site.key.line >= call.first_line &&
           site.key.line <= call.last_line;
  });
}

}  // namespace

std::vector<MachineCall> machine_calls(const std::string& source) {
  static const std::regex kCall(
      R"((\bm_?|\bmachine\(\))\.(template )?(load|store|load_weak|store_weak|store_mmio|fence|)"
      R"(fetch_\w+|exchange|compare_exchange|copy|copy_in|sync_warp|sync_block|any_block))"
      R"((<[^()]*>)?\()");
  const std::string text = without_comments(source);
  std::vector<MachineCall> calls;
  for (std::sregex_iterator found(text.begin(), text.end(), kCall), end; found != end; ++found) {
    const auto at = static_cast<std::size_t>(found->position());
    const std::size_t open = at + static_cast<std::size_t>(found->length()) - 1;
    calls.push_back(
        {line_of(text, at), line_of(text, closing_bracket(text, open)), line_at(text, at)});
  }
  return calls;
}

std::vector<std::string> unvisited_sites(const fs::path& root,
                                         const std::vector<OrderSite>& visited) {
  std::vector<std::string> found;
  for (const char* folder : {"device", "device/collective"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(root / folder)) {
      // The concept names the calls and makes none.
      const bool calls =
          entry.path().extension() == ".h" && entry.path().stem() != "machine_concept";
      if (!calls) continue;
      const std::string file = std::string(folder) + "/" + entry.path().filename().string();
      const Result<std::string> text = read_file(entry.path().string(), "the header");
      if (!text) {
        found.push_back(text.error().message());
        continue;
      }
      for (const MachineCall& call : machine_calls(*text)) {
        if (is_visited(file, call, visited)) continue;
        found.push_back(file + ":" + std::to_string(call.first_line) + ": " + call.text +
                        " is passed by no scenario");
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gdakit::sim::mutants
