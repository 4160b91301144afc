// The bodies of WQEs that bind memory windows and end them, as libmlx5 posts them.
//
//   rig.b.post(bind_wqe({.window = window, .region = rig.b.key, .start = at, .length = 64}));
#pragma once

#include <cstring>
#include <vector>

#include "core/base/bits.h"
#include "core/format/umr.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

struct Bind {
  MemoryKey window = 0;
  MemoryKey region = 0;
  std::uint64_t start = 0;  // iova of the window's first byte
  std::uint64_t length = 0;
  std::uint8_t rights = format::mkey_access::remote_write | format::mkey_access::remote_read;
  std::uint8_t variant = 0;                 // the low byte from now on
  std::optional<std::uint64_t> place = {};  // in the region, if that is not `start`
  std::optional<QpNumber> type_2_of = {};   // of type 2, for this queue pair
};

// The parts of a UMR WQE behind its control segment, which tests may change.
struct Umr {
  format::UmrControlSegment control{};
  format::MkeyContextSegment context{};
  std::vector<format::KlmSegment> list;

  std::vector<format::Segment> segments() const {
    std::vector<format::Segment> all(sizeof control / sizeof(format::Segment) +
                                     sizeof context / sizeof(format::Segment));
    std::memcpy(static_cast<void*>(all.data()), &control, sizeof control);
    std::memcpy(static_cast<void*>(all.data() + 3), &context, sizeof context);
    for (const format::KlmSegment& entry : list) all.push_back(format::to_segment(entry));
    // Lists are padded to 64 bytes.
    if (!list.empty()) all.resize(7 + round_up(list.size(), format::kOctowordsOfOneKlm));
    return all;
  }
};

inline Umr bind_umr(const Bind& bind) {
  using namespace format;
  Umr umr;
  umr.control.flags = umr_flags::inline_list | umr_flags::translation_offset;
  std::uint64_t mask = mkey_mask::free | mkey_mask::key | mkey_mask::length |
                       mkey_mask::start_address | mkey_mask::local_write | mkey_mask::remote_read |
                       mkey_mask::remote_write | mkey_mask::atomic;
  std::uint32_t qpn = kMkeyOfAnyQp;
  if (bind.type_2_of) {
    umr.control.flags |= umr_flags::check_free;
    mask |= mkey_mask::qpn;
    qpn = *bind.type_2_of;
  }
  umr.control.klm_octowords = Be16{kOctowordsOfOneKlm};
  umr.control.mkey_mask = Be64{mask};
  umr.context.access_flags = bind.rights;
  umr.context.qpn_mkey = Be32{qpn << 8 | bind.variant};
  umr.context.start_addr = Be64{bind.start};
  umr.context.len = Be64{bind.length};
  umr.list = {{Be32{static_cast<std::uint32_t>(bind.length)}, Be32{bind.region},
               Be64{bind.place.value_or(bind.start)}}};
  return umr;
}

// A bind of nothing of type 1; else a local invalidate, or a bind of nothing of type 2.
inline Umr free_umr(bool type_1 = false, std::uint8_t variant = 0) {
  using namespace format;
  Umr umr;
  umr.control.flags = umr_flags::inline_list | umr_flags::translation_offset;
  if (!type_1) umr.control.flags |= umr_flags::check_qpn;
  const std::uint64_t mask = mkey_mask::free | mkey_mask::key;
  umr.control.mkey_mask = Be64{type_1 ? mask : mask | mkey_mask::qpn};
  umr.context.free = kMkeyFree;
  umr.context.qpn_mkey = Be32{kMkeyOfAnyQp << 8 | variant};
  return umr;
}

inline Wqe umr_wqe(MemoryKey window, const Umr& umr) {
  return {.opcode = format::Opcode::umr, .imm = window, .body = umr.segments()};
}
inline Wqe bind_wqe(const Bind& bind) { return umr_wqe(bind.window, bind_umr(bind)); }
inline Wqe invalidate_wqe(MemoryKey window) { return umr_wqe(window, free_umr()); }

}  // namespace gdakit::softnic::test
