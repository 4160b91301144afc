#include "backends/softnic/queues/umr.h"

#include <cstring>

#include "backends/softnic/queues/load_segment.h"
#include "core/format/umr.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {
namespace {

using namespace format;

constexpr std::uint32_t kControlAt = sizeof(ControlSegment);
constexpr std::uint32_t kContextAt = kControlAt + sizeof(UmrControlSegment);
constexpr std::uint32_t kListAt = kContextAt + sizeof(MkeyContextSegment);

// How the NIC orders what is done by the key is its own choice: it takes no liberty.
constexpr std::uint64_t kOrderMask =
    mkey_mask::small_fence | mkey_mask::relaxed_ordering_write | mkey_mask::relaxed_ordering_read;
constexpr std::uint64_t kKnownMask =
    mkey_mask::length | mkey_mask::start_address | mkey_mask::remote_invalidate | mkey_mask::key |
    mkey_mask::qpn | mkey_mask::local_read | mkey_mask::local_write | mkey_mask::remote_read |
    mkey_mask::remote_write | mkey_mask::atomic | mkey_mask::free | kOrderMask;

Access access_of(std::uint8_t flags) {
  Access access = Access::none;
  if ((flags & mkey_access::local_read) != 0) access = access | Access::local_read;
  if ((flags & mkey_access::local_write) != 0) access = access | Access::local_write;
  if ((flags & mkey_access::remote_read) != 0) access = access | Access::remote_read;
  if ((flags & mkey_access::remote_write) != 0) access = access | Access::remote_write;
  if ((flags & mkey_access::atomic) != 0) access = access | Access::remote_atomic;
  return access;
}

// Where the list begins in the key's: its low half in octowords, with the high one behind the mask.
std::uint64_t first_entry(const UmrControlSegment& control) {
  if ((control.flags & umr_flags::translation_offset) == 0) return 0;
  const std::uint64_t high = load<Be32>(control.rsvd1);
  return high << 16 | control.translation_offset;
}

Fault decode_list(const std::uint8_t* wqe, std::uint32_t size, const UmrControlSegment& control,
                  KeyChange& change) {
  const std::uint32_t octowords = control.klm_octowords;
  if (octowords == 0) return {};
  change.first_entry = first_entry(control);
  const auto bytes = static_cast<std::uint32_t>(octowords * sizeof(KeyListEntry));
  if ((control.flags & umr_flags::inline_list) != 0) {
    if (bytes > size - kListAt) return kMalformedWqe;
    change.entries.resize(octowords);
    std::memcpy(static_cast<void*>(change.entries.data()), wqe + kListAt, bytes);
    return {};
  }
  if (size - kListAt < sizeof(DataSegment)) return kMalformedWqe;
  const auto data = load<DataSegment>(wqe + kListAt);
  if (data.byte_count < bytes) return kLocalLength;
  change.entries_at = {data.lkey, data.addr, bytes};
  return {};
}

}  // namespace

Fault decode_key_change(const std::uint8_t* wqe, std::uint32_t size, KeyChange& change) {
  if (size < kListAt) return kMalformedWqe;
  const auto control = load<UmrControlSegment>(wqe + kControlAt);
  const auto context = load<MkeyContextSegment>(wqe + kContextAt);
  change = {};
  change.key = load<ControlSegment>(wqe).imm;
  change.must_be_free = (control.flags & umr_flags::check_free) != 0;
  change.must_be_live = (control.flags & umr_flags::check_not_free) != 0;
  change.must_be_of_qp = (control.flags & umr_flags::check_qpn) != 0;
  change.mask = control.mkey_mask;
  change.free = (context.free & kMkeyFree) != 0;
  change.variant = static_cast<std::uint8_t>(context.qpn_mkey);
  change.qpn = context.qpn_mkey >> 8;
  change.access = access_of(context.access_flags);
  change.remote_invalidate = (context.flags_pd & kMkeyRemoteInvalidate) != 0;
  change.start = context.start_addr;
  change.length = context.len;
  const bool has_offset = (control.flags & umr_flags::translation_offset) != 0;
  const bool has_signature = !has_offset && control.translation_offset != 0;
  if ((change.mask & ~kKnownMask) != 0 || has_signature) return kBindRefused;
  return decode_list(wqe, size, control, change);
}

Fault change_key(QueueCore& core, const QpCommon& qp, const Request& request, DmaOp& before) {
  const bool changed = core.keys.change_by_wqe(*request.key_change, qp.attributes.pd, qp.number);
  if (!changed) return kBindRefused;
  before = core.port.fence();
  return {};
}

}  // namespace gdakit::softnic
