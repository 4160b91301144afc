#include "core/host/memory/mapped_memory.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "core/base/hex.h"

namespace gdakit {
namespace {

// A line of /proc/self/maps: "7f00-7f80 rw-p 00000000 00:00 0    /a/file".
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool readable = false;
  bool writable = false;
  std::string name;  // a file's path, or [heap] and the like; often empty
};

bool parse(const std::string& line, Mapping& mapping) {
  const char* const last = line.data() + line.size();
  const auto begin = std::from_chars(line.data(), last, mapping.begin, 16);
  if (begin.ec != std::errc{} || begin.ptr == last || *begin.ptr != '-') return false;
  const auto end = std::from_chars(begin.ptr + 1, last, mapping.end, 16);
  if (end.ec != std::errc{} || last - end.ptr < 5) return false;
  mapping.readable = end.ptr[1] == 'r';
  mapping.writable = end.ptr[2] == 'w';
  const std::size_t name = line.find_first_of("/[", static_cast<std::size_t>(end.ptr - &line[0]));
  mapping.name = name == std::string::npos ? "" : line.substr(name);
  return true;
}

Error not_memory(std::uint64_t at) {
  return Error(Code::invalid_argument,
               "the bytes from " + hex_number(at) + " on are not memory of this process");
}

Result<void> check(const Mapping& mapping, std::uint64_t at) {
  if (mapping.readable && mapping.writable) return {};
  const std::string protection = mapping.readable   ? "may only be read (PROT_READ)"
                                 : mapping.writable ? "may only be written (PROT_WRITE)"
                                                    : "may not be accessed (PROT_NONE)";
  return Error(Code::invalid_argument,
               "the bytes from " + hex_number(at) + " on" +
                   (mapping.name.empty() ? "" : ", of " + mapping.name + ",") + " " + protection +
                   ", and a NIC reads and writes a buffer; give it other memory, or mprotect it");
}

// The first address of a page that is not mapped, or `end`.
std::uint64_t first_unmapped(std::uint64_t begin, std::uint64_t end) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(4096);  // which pages are: not asked here
  std::uint64_t at = begin / page * page;
  while (at < end) {
    const std::uint64_t part = std::min(resident.size() * page, end - at);
    const int asked = ::mincore(reinterpret_cast<void*>(at), part, resident.data());
    if (asked != 0 && errno == ENOMEM) return std::max(at, begin);
    at += part;
  }
  return end;
}

}  // namespace

bool is_mapped(const void* base, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  return bytes <= ~begin && first_unmapped(begin, begin + bytes) == begin + bytes;
}

Result<void> check_readable_writable(const void* base, std::uint64_t bytes) {
  std::uint64_t at = reinterpret_cast<std::uint64_t>(base);
  const std::uint64_t end = at + bytes;
  std::ifstream maps("/proc/self/maps");
  if (!maps) at = first_unmapped(at, end);
  // In the order of their addresses.
  for (std::string line; at < end && std::getline(maps, line);) {
    Mapping mapping;
    if (!parse(line, mapping) || mapping.end <= at) continue;
    if (mapping.begin > at) break;
    if (Result<void> usable = check(mapping, at); !usable) return usable;
    at = mapping.end;
  }
  return at < end ? Result<void>(not_memory(at)) : Result<void>();
}

}  // namespace gdakit
