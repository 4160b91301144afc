#include "examples/moe_dispatch/text.h"

#include <cerrno>
#include <fstream>

namespace moe {
namespace {

// Far more than a book. A device that never ends must not fill the memory.
constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
// Bytes above ASCII are letters of some language.
bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Words split_words(std::string_view text, std::uint64_t limit) {
  Words words;
  std::string word;
  const auto end_word = [&] {
    const bool wanted = !word.empty() && (limit == 0 || words.size() < limit);
    if (wanted) words.push_back(word);
    word.clear();
  };
  for (char c : text) {
    if (is_blank(c)) end_word();
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
    if (is_word_character(c)) word += c;
  }
  end_word();
  return words;
}

gdakit::Result<Words> read_words(const std::string& path, std::uint64_t limit) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[4096];
  while (file.read(piece, sizeof(piece)) || file.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMostTextBytes) {
      return gdakit::Error(
          gdakit::Code::invalid_argument,
          "the text " + path + " has more than 64 MiB; name another one by --text");
    }
  }
  if (!file.is_open() || file.bad()) {
    return gdakit::Error::from_errno(
        "the text " + path + " cannot be read; name another one by --text", errno);
  }
  Words words = split_words(text, limit);
  if (words.empty()) {
    return gdakit::Error(gdakit::Code::invalid_argument,
                         "the text " + path + " has no word; name another one by --text");
  }
  return words;
}

// FNV-1a, mixed: it alone leaves the hashes of short words close together.
Token token_of(std::string_view word) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix(hash);
}

std::span<const std::string> share_of(std::span<const std::string> words, int pe, int pes) {
  const std::size_t begin =
      words.size() * static_cast<std::size_t>(pe) / static_cast<std::size_t>(pes);
  const std::size_t end =
      words.size() * static_cast<std::size_t>(pe + 1) / static_cast<std::size_t>(pes);
  return words.subspan(begin, end - begin);
}

}  // namespace moe
