#include "backends/softnic/uverbs/preload/loader.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <string_view>

namespace gdakit::softnic::uverbs {
namespace {

// What a loaded library says of its symbols. Its table of hashes, as the GNU tools write it:
//
//   buckets, first symbol, bloom words, bloom shift | bloom | buckets | chains
struct SymbolTable {
  explicit SymbolTable(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      const std::uintptr_t at = entry->d_un.d_ptr;
      if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const std::uint32_t*>(at);
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(at);
    }
  }

  // Null: it is not there.
  const ElfW(Sym) * find(const char* name) const;

  const std::uint32_t* hashes = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

std::uint32_t hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<std::uint8_t>(c);
  return hash;
}

const ElfW(Sym) * SymbolTable::find(const char* name) const {
  if (hashes == nullptr || symbols == nullptr || names == nullptr) return nullptr;
  const std::uint32_t buckets = hashes[0], first = hashes[1];
  const std::uint32_t* const bucket = hashes + 4 + hashes[2] * sizeof(ElfW(Addr)) / 4;
  const std::uint32_t* const chain = bucket + buckets;
  const std::uint32_t hash = hash_of(name);
  std::uint32_t number = bucket[hash % buckets];
  if (number < first) return nullptr;
  for (;; ++number) {
    const std::uint32_t found = chain[number - first];
    const ElfW(Sym)& symbol = symbols[number];
    const bool is_it = (found | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
                       std::strcmp(names + symbol.st_name, name) == 0;
    if (is_it) return &symbol;
    if ((found & 1) != 0) return nullptr;  // the last one of its chain
  }
}

struct Search {
  const char* name = nullptr;
  void* found = nullptr;
};

// Of one library: whether the search is over.
int look(dl_phdr_info* info, std::size_t, void* to) {
  auto& search = *static_cast<Search*>(to);
  const std::string_view path = info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with("libc.so.") && !file.starts_with("libdl.so.")) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_DYNAMIC) continue;
    const SymbolTable table(reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + part.p_vaddr));
    const ElfW(Sym)* const symbol = table.find(search.name);
    if (symbol == nullptr) continue;
    search.found = reinterpret_cast<void*>(info->dlpi_addr + symbol->st_value);
    return 1;
  }
  return 0;
}

}  // namespace

void* find_loader_function(const char* name) {
  Search search{name, nullptr};
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

}  // namespace gdakit::softnic::uverbs
