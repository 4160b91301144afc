#include "backends/softnic/memory/keys.h"

#include <algorithm>
#include <utility>

namespace gdakit::softnic {
namespace {

// What the other key must allow for what is done by this one.
Access needed_of_part(Access wanted) {
  const bool reads = wanted == Access::local_read || wanted == Access::remote_read;
  return reads ? Access::local_read : Access::local_write;
}

}  // namespace

// How many pages a region begins and ends in.
std::uint64_t KeyTable::pages_of(std::uint64_t start, std::uint64_t length,
                                 std::uint8_t log_page_size) {
  if (length == 0) return 0;
  return ((start + length - 1) >> log_page_size) - (start >> log_page_size) + 1;
}

Outcome<> KeyTable::check_pages(const MrAttributes& attributes) {
  const std::uint8_t log_size = attributes.log_page_size;
  if (log_size < kMinLogPageSize || log_size > kMaxLogPageSize) {
    return refusal(CommandSyndrome::reg_mr_page_size, 0, log_size);
  }
  const std::uint64_t needed = pages_of(attributes.start, attributes.length, log_size);
  if (attributes.pages.size() != needed) {
    return refusal(CommandSyndrome::reg_mr_page_count, static_cast<std::uint32_t>(needed),
                   attributes.pages.size());
  }
  for (std::size_t i = 0; i < attributes.pages.size(); ++i) {
    if (attributes.pages[i].value % (std::uint64_t{1} << log_size) == 0) continue;
    return refusal(CommandSyndrome::reg_mr_page_alignment, static_cast<std::uint32_t>(i), log_size);
  }
  return {};
}

Outcome<> KeyTable::check(const MrAttributes& attributes) {
  // A region may have no bytes: what moves none may name it.
  const std::uint64_t last = std::max<std::uint64_t>(attributes.length, 1) - 1;
  if (attributes.start + last < attributes.start ||
      attributes.base.value + last < attributes.base.value) {
    return refusal(CommandSyndrome::reg_mr_wraps, 0, attributes.length);
  }
  const bool remote_changes = allows(attributes.access, Access::remote_write) ||
                              allows(attributes.access, Access::remote_atomic);
  if (remote_changes && !allows(attributes.access, Access::local_write)) {
    return refusal(CommandSyndrome::reg_mr_rights);
  }
  return attributes.pages.empty() ? Outcome<>() : check_pages(attributes);
}

Outcome<MemoryKey> KeyTable::add(const MrAttributes& attributes, Uid owner) {
  if (const Outcome<> checked = check(attributes); !checked) return checked.status();
  const auto index = indices_.take();
  if (!index) return refusal(CommandSyndrome::reg_mr_numbers, 0, indices_.most());
  Entry& entry = entry_of(*index);
  entry.variant = attributes.variant.value_or(static_cast<std::uint8_t>(entry.variant + 1));
  entry.owner = owner;
  entry.live = true;
  entry.kind = KeyKind::region;
  fill(entry, attributes);
  return (*index << 8) | entry.variant;
}

KeyTable::Entry& KeyTable::entry_of(std::uint32_t index) {
  const std::uint32_t at = index - indices_.first();
  while (at >= entries_.size()) entries_.emplace_back().variant = before_first_variant_;
  return entries_[at];
}

void KeyTable::fill(Entry& entry, const MrAttributes& attributes) {
  entry.start = attributes.start;
  entry.length = attributes.length;
  entry.base = attributes.base;
  entry.pd = attributes.pd;
  entry.qpn = attributes.qpn;
  entry.access = attributes.access;
  entry.log_page_size = attributes.log_page_size;
  const std::size_t pages = attributes.pages.size();
  entry.in_one_piece = pages == 0;
  entry.pages = pages == 0 ? nullptr : std::make_unique<DmaAddress[]>(pages);
  std::copy(attributes.pages.begin(), attributes.pages.end(), entry.pages.get());
}

const KeyTable::Entry* KeyTable::find(MemoryKey key, Uid owner) const {
  const std::uint32_t index = place(key);
  if (index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[index];
  const bool is_it =
      entry.kind == KeyKind::region && entry.variant == (key & 0xff) && entry.owner == owner;
  return is_it ? &entry : nullptr;
}

KeyTable::Entry* KeyTable::find(MemoryKey key, Uid owner) {
  return const_cast<Entry*>(std::as_const(*this).find(key, owner));
}

std::optional<std::vector<MemoryRange>> KeyTable::find_memory(MemoryKey key, Uid owner) const {
  if (find(key, owner) == nullptr) return std::nullopt;
  return memory(key);
}

Outcome<> KeyTable::change(MemoryKey key, const MrAttributes& attributes, Uid owner) {
  Entry* const entry = find(key, owner);
  if (entry == nullptr) return refusal(CommandSyndrome::rereg_mr_absent, key);
  if (const Outcome<> checked = check(attributes); !checked) return checked;
  fill(*entry, attributes);
  ++removals_;
  return {};
}

Outcome<> KeyTable::remove(MemoryKey key, Uid owner) {
  Entry* const entry = find(key, owner);
  if (entry == nullptr) return refusal(CommandSyndrome::dereg_mr_absent, key);
  entry->live = false;
  entry->kind = KeyKind::none;
  ++removals_;
  indices_.give_back(key >> 8);
  return {};
}

// Of the other key that a window or a list names at this offset, if it names one.
std::optional<KeyPart> KeyTable::find_part(const Entry& entry, std::uint64_t offset) const {
  if (!is_window(entry.kind)) return entry.list->find(offset);
  return KeyPart{entry.region, entry.base.value + offset, entry.length - offset};
}

// By the other keys as they are now: they may have gone, or be others. Windows are none of them.
Translation KeyTable::find_piece(const Entry& entry, QpNumber qpn, std::uint64_t iova,
                                 std::uint64_t size, Access wanted, std::uint32_t depth) const {
  if (!entry.is_indirect()) return {.piece = piece_of_pages(entry, iova, size)};
  if (size == 0) return {};
  if (depth == 0) return {KeyFault::depth};
  const std::optional<KeyPart> part = find_part(entry, iova - entry.start);
  if (!part) return {KeyFault::range};
  const std::uint32_t index = place(part->key);
  if (index >= entries_.size() || is_window(entries_[index].kind)) return {KeyFault::unknown_key};
  Translation found = look_up(part->key, entry.pd, qpn, part->iova, std::min(size, part->length),
                              needed_of_part(wanted), depth - 1);
  if (found.region == 0) found.region = part->key;
  return found;
}

KeyFault KeyTable::check_pieces(MemoryKey key, PdNumber pd, QpNumber qpn, std::uint64_t iova,
                                std::uint64_t size, Access wanted) const {
  while (size != 0) {
    const Translation found = translate(key, pd, qpn, iova, size, wanted);
    if (found.fault != KeyFault::none) return found.fault;
    iova += found.piece.length;
    size -= found.piece.length;
  }
  return KeyFault::none;
}

// From the page of `iova` on, as long as each page follows the one before, and of no more pages
// than are looked at in no time.
MemoryRange KeyTable::piece_of_pages(const Entry& entry, std::uint64_t iova, std::uint64_t size) {
  if (size == 0) return {};
  const std::uint64_t page_bytes = std::uint64_t{1} << entry.log_page_size;
  std::uint64_t page = (iova >> entry.log_page_size) - (entry.start >> entry.log_page_size);
  const std::uint64_t offset = iova & (page_bytes - 1);
  const DmaAddress begin = entry.pages[page] + offset;
  std::uint64_t length = std::min(size, page_bytes - offset);
  const std::uint64_t last = page + kPagesOfAPiece - 1;
  while (length != size && page != last && entry.pages[page + 1] == begin + length) {
    ++page;
    length += std::min(size - length, page_bytes);
  }
  return {begin, length};
}

std::vector<MemoryRange> KeyTable::memory(MemoryKey key) const {
  const Entry& entry = entries_[place(key)];
  if (entry.in_one_piece) return {{entry.base, entry.length}};
  if (entry.pages == nullptr) return {};
  std::vector<MemoryRange> pieces;
  for (std::uint64_t at = 0; at != entry.length; at += pieces.back().length) {
    pieces.push_back(piece_of_pages(entry, entry.start + at, entry.length - at));
  }
  return pieces;
}

std::size_t KeyTable::count(PdNumber pd) const {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [pd](const Entry& e) { return e.kind != KeyKind::none && e.pd == pd; }));
}

}  // namespace gdakit::softnic
