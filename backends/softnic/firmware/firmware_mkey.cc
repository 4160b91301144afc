// Commands of memory keys: of a umem's memory, and those that consist of parts of others.
#include <algorithm>
#include <utility>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/object_mailbox.h"
#include "core/format/prm/mkey.h"

namespace gdakit::softnic {

using namespace format;

namespace {

using prm::Mkc;
using prm::MkeyAccessMode;

constexpr std::size_t kEntryBytes = sizeof(KeyListEntry);

Access access_of(prm::View<Mkc> context) {
  Access access = Access::none;
  if (context.get(Mkc::lr) != 0) access = access | Access::local_read;
  if (context.get(Mkc::lw) != 0) access = access | Access::local_write;
  if (context.get(Mkc::rr) != 0) access = access | Access::remote_read;
  if (context.get(Mkc::rw) != 0) access = access | Access::remote_write;
  if (context.get(Mkc::a) != 0) access = access | Access::remote_atomic;
  return access;
}

void write_access(Access access, prm::View<Mkc, std::uint8_t> to) {
  to.set(Mkc::lr, allows(access, Access::local_read));
  to.set(Mkc::lw, allows(access, Access::local_write));
  to.set(Mkc::rr, allows(access, Access::remote_read));
  to.set(Mkc::rw, allows(access, Access::remote_write));
  to.set(Mkc::a, allows(access, Access::remote_atomic));
}

// Signatures, encryption, and translation by the host. Bits of ordering are heard by doing better.
bool asks_for_what_is_absent(prm::View<Mkc> context) {
  return context.get(Mkc::bsf_en) != 0 || context.get(Mkc::sync_umr) != 0 ||
         context.get(Mkc::expected_sigerr_count) != 0 || context.get(Mkc::bsf_octword_size) != 0 ||
         context.get(Mkc::crypto_en) != 0 || context.get(Mkc::ma_translation_mode) != 0;
}

MkeyAttributes attributes_of(prm::View<Mkc> context) {
  MkeyAttributes attributes;
  attributes.pd = static_cast<PdNumber>(context.get(Mkc::pd));
  attributes.start = context.get(Mkc::start_addr);
  attributes.length = context.get(Mkc::len);
  if (context.get(Mkc::length64) != 0) attributes.length = ~std::uint64_t{0};
  attributes.access = access_of(context);
  attributes.qpn = static_cast<QpNumber>(context.get(Mkc::qpn));
  attributes.variant = static_cast<std::uint8_t>(context.get(Mkc::mkey_7_0));
  attributes.free = context.get(Mkc::free) != 0;
  attributes.umr_enabled = context.get(Mkc::umr_en) != 0;
  attributes.remote_invalidate = context.get(Mkc::en_rinval) != 0;
  return attributes;
}

// The entries behind the mailbox.
Outcome<MkeyListAttributes> list_of(std::span<const std::uint8_t> in, prm::View<Mkc> context) {
  MkeyListAttributes list;
  list.capacity = static_cast<std::uint32_t>(context.get(Mkc::translations_octword_size));
  if (access_mode_of(context) == MkeyAccessMode::ksm) {
    list.log_entry_bytes = static_cast<std::uint8_t>(context.get(Mkc::log_page_size));
  }
  const std::uint64_t entries =
      prm::View<prm::CreateMkeyIn>(in).get(prm::CreateMkeyIn::translations_octword_actual_size);
  const std::span<const std::uint8_t> bytes = in.subspan(prm::CreateMkeyIn::kBytes);
  if (entries > bytes.size() / kEntryBytes) {
    return refusal(CommandSyndrome::mailbox_in_length,
                   static_cast<std::uint32_t>(prm::CreateMkeyIn::kBytes + entries * kEntryBytes),
                   in.size());
  }
  list.entries.resize(entries);
  std::ranges::copy(bytes.first(entries * kEntryBytes),
                    reinterpret_cast<std::uint8_t*>(list.entries.data()));
  return list;
}

}  // namespace

// By which translations the key's bytes are found.
Outcome<> Firmware::find_mkey_memory(In in, MkeyAttributes& attributes, UmemUses& uses) const {
  const prm::View<prm::CreateMkeyIn> request(in);
  const auto context = request.at(prm::CreateMkeyIn::memory_key_mkey_entry);
  const MkeyAccessMode mode = access_mode_of(context);
  if (mode == MkeyAccessMode::klms || mode == MkeyAccessMode::ksm) {
    const Outcome<MkeyListAttributes> list = list_of(in, context);
    if (!list) return list.status();
    attributes.list = *list;
    return {};
  }
  // All of the host's memory by its physical addresses (PA) is for the kernel alone.
  if (mode != MkeyAccessMode::mtt) {
    return refusal(CommandSyndrome::mailbox_mkey_mode, 0, static_cast<std::uint64_t>(mode));
  }
  const auto memory =
      find_memory(request.get(prm::CreateMkeyIn::mkey_umem_valid) != 0,
                  {.umem = static_cast<UmemNumber>(request.get(prm::CreateMkeyIn::mkey_umem_id)),
                   .offset = request.get(prm::CreateMkeyIn::mkey_umem_offset),
                   .bytes = attributes.length,
                   .written = allows(attributes.access, Access::local_write)},
                  in, uses);
  if (!memory) return memory.status();
  attributes.base = *memory;
  return {};
}

Status Firmware::create_mkey(In in, Out out) {
  const prm::View<prm::CreateMkeyIn> request(in);
  const auto context = request.at(prm::CreateMkeyIn::memory_key_mkey_entry);
  const std::uint64_t index = request.get(prm::CreateMkeyIn::input_mkey_index);
  if (index != 0) return refusal(CommandSyndrome::mailbox_mkey_index, 0, index);
  if (asks_for_what_is_absent(context)) return refusal(CommandSyndrome::mailbox_absent_feature);
  MkeyAttributes attributes = attributes_of(context);
  UmemUses uses;
  if (const Outcome<> found = find_mkey_memory(in, attributes, uses); !found) {
    return found.status();
  }
  const Outcome<MemoryKey> key = engine_.create_mkey(attributes, uid_of(in));
  if (!key) return key.status();
  Made<Mkc>& made = mkeys_[*key >> 8];
  std::ranges::copy(context.bytes(), made.context.bytes().begin());
  made.umems = std::move(uses);
  prm::View<prm::CreateMkeyOut, std::uint8_t>(out).set(prm::CreateMkeyOut::mkey_index, *key >> 8);
  return {};
}

// With pg_access the answer has the entries, too, as many as there is room for.
Status Firmware::query_mkey(In in, Out out) {
  const std::uint32_t index = object_of(in);
  const Outcome<MkeyInfo> info = engine_.query_mkey(index << 8, uid_of(in));
  if (!info) return info.status();
  const auto context =
      prm::View<prm::QueryMkeyOut, std::uint8_t>(out).at(prm::QueryMkeyOut::memory_key_mkey_entry);
  std::ranges::copy(mkeys_[index].context.bytes(), context.bytes().begin());
  context.set(Mkc::free, info->free);
  context.set(Mkc::en_rinval, info->remote_invalidate);
  context.set(Mkc::qpn, info->qpn);
  context.set(Mkc::mkey_7_0, info->key & 0xff);
  context.set(Mkc::start_addr, info->start);
  context.set(Mkc::len, info->length);
  write_access(info->access, context);
  const bool wants_entries = prm::View<prm::QueryMkeyIn>(in).get(prm::QueryMkeyIn::pg_access) != 0;
  if (!wants_entries) return {};
  const Out room = out.subspan(prm::QueryMkeyOut::kEntriesAt);
  const std::size_t entries = std::min(info->entries.size(), room.size() / kEntryBytes);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(info->entries.data()), entries * kEntryBytes,
              room.data());
  return {};
}

Status Firmware::destroy_mkey(In in, Out) {
  const std::uint32_t index = object_of(in);
  const Outcome<> destroyed = engine_.destroy_mkey(index << 8, uid_of(in));
  if (destroyed) forget(mkeys_, index);
  return destroyed.status();
}

}  // namespace gdakit::softnic
