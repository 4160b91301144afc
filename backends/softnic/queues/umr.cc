#include "backends/softnic/queues/umr.h"

#include "backends/softnic/queues/load_segment.h"
#include "core/format/umr.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {
namespace {

using namespace format;

constexpr std::uint32_t kControlAt = sizeof(ControlSegment);
constexpr std::uint32_t kContextAt = kControlAt + sizeof(UmrControlSegment);
constexpr std::uint32_t kListAt = kContextAt + sizeof(MkeyContextSegment);

constexpr std::uint64_t kKnownMask = mkey_mask::length | mkey_mask::start_address | mkey_mask::key |
                                     mkey_mask::qpn | mkey_mask::local_write |
                                     mkey_mask::remote_read | mkey_mask::remote_write |
                                     mkey_mask::atomic | mkey_mask::free;

// Local rights of a window mean nothing: no data segment names it.
Access access_of(std::uint8_t flags) {
  Access access = Access::none;
  if ((flags & mkey_access::remote_read) != 0) access = access | Access::remote_read;
  if ((flags & mkey_access::remote_write) != 0) access = access | Access::remote_write;
  if ((flags & mkey_access::atomic) != 0) access = access | Access::remote_atomic;
  return access;
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
  change.start = context.start_addr;
  change.length = context.len;
  if ((change.mask & ~kKnownMask) != 0) return kBindRefused;
  if (control.klm_octowords == 0) return {};
  const bool is_one_entry = control.klm_octowords == kOctowordsOfOneKlm &&
                            control.translation_offset == 0 &&
                            (control.flags & umr_flags::inline_list) != 0;
  if (!is_one_entry) return kBindRefused;
  if (size < kListAt + sizeof(KlmSegment)) return kMalformedWqe;
  const auto klm = load<KlmSegment>(wqe + kListAt);
  const std::uint64_t length = klm.byte_count == 0 ? std::uint64_t{1} << 31 : klm.byte_count;
  change.has_part = true;
  change.part = {klm.mkey, klm.address, length};
  return {};
}

Fault change_key(QueueCore& core, const QpCommon& qp, const Request& request, DmaOp& before) {
  const bool changed = core.keys.change_window(*request.key_change, qp.attributes.pd, qp.number);
  if (!changed) return kBindRefused;
  before = core.port.fence();
  return {};
}

}  // namespace gdakit::softnic
