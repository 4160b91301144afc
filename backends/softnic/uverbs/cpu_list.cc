#include "backends/softnic/uverbs/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

namespace gdakit::softnic::uverbs {
namespace {

constexpr unsigned kBits = 32;
constexpr unsigned kMostCpus = 1 << 16;

// The number at `at`, which goes behind it; kMostCpus if there is none or it is too large.
unsigned take_number(const char*& at, const char* end) {
  unsigned number = kMostCpus;
  const auto [behind, error] = std::from_chars(at, end, number);
  at = behind;
  return error == std::errc() ? std::min(number, kMostCpus) : kMostCpus;
}

}  // namespace

std::string online_cpus() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string list;
  return std::getline(file, list) && !list.empty() ? list : "0";
}

std::string cpu_mask(const std::string& list) {
  std::vector<std::uint32_t> words(1);
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    const unsigned first = take_number(at, end);
    unsigned last = first;
    if (at < end && *at == '-') last = take_number(++at, end);
    if (first == kMostCpus || last == kMostCpus) break;
    words.resize(std::max<std::size_t>(words.size(), last / kBits + 1));
    for (unsigned cpu = first; cpu <= last; ++cpu) words[cpu / kBits] |= 1u << (cpu % kBits);
    if (at < end) ++at;  // a comma
  }
  std::string text;
  for (std::size_t i = words.size(); i-- > 0;) {
    char word[16];
    std::snprintf(word, sizeof word, text.empty() ? "%x" : ",%08x", words[i]);
    text += word;
  }
  return text;
}

}  // namespace gdakit::softnic::uverbs
