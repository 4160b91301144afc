// Mailboxes of memory keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

// mkc.access_mode, of which the context has the two low bits and the three above them apart.
enum class MkeyAccessMode : std::uint8_t { pa = 0, mtt = 1, klms = 2, ksm = 3 };

// In mkc.qpn: any queue pair may use the key.
inline constexpr std::uint32_t kMkcOfAnyQp = 0xffffff;

struct Mkc {
  static constexpr std::size_t kBytes = 64;
  static constexpr Field<Mkc, 1, 1> free{};
  static constexpr Field<Mkc, 3, 3> access_mode_4_2{};
  static constexpr Field<Mkc, 13, 1> relaxed_ordering_write{};
  static constexpr Field<Mkc, 15, 1> small_fence_on_rdma_read_response{};
  static constexpr Field<Mkc, 16, 1> umr_en{};
  static constexpr Field<Mkc, 17, 1> a{};
  static constexpr Field<Mkc, 18, 1> rw{};
  static constexpr Field<Mkc, 19, 1> rr{};
  static constexpr Field<Mkc, 20, 1> lw{};
  static constexpr Field<Mkc, 21, 1> lr{};
  static constexpr Field<Mkc, 22, 2> access_mode_1_0{};
  static constexpr Field<Mkc, 26, 2> ma_translation_mode{};
  static constexpr Field<Mkc, 32, 24> qpn{};
  static constexpr Field<Mkc, 56, 8> mkey_7_0{};
  static constexpr Field<Mkc, 96, 1> length64{};
  static constexpr Field<Mkc, 97, 1> bsf_en{};
  static constexpr Field<Mkc, 98, 1> sync_umr{};
  static constexpr Field<Mkc, 101, 1> expected_sigerr_count{};
  static constexpr Field<Mkc, 103, 1> en_rinval{};
  static constexpr Field<Mkc, 104, 24> pd{};
  static constexpr Field<Mkc, 128, 64> start_addr{};
  static constexpr Field<Mkc, 192, 64> len{};
  static constexpr Field<Mkc, 256, 32> bsf_octword_size{};
  static constexpr Field<Mkc, 416, 32> translations_octword_size{};
  static constexpr Field<Mkc, 473, 1> relaxed_ordering_read{};
  static constexpr Field<Mkc, 474, 6> log_page_size{};
  static constexpr Field<Mkc, 483, 2> crypto_en{};
};

// May be none of MkeyAccessMode's.
constexpr MkeyAccessMode access_mode_of(View<Mkc> context) {
  return static_cast<MkeyAccessMode>(context.get(Mkc::access_mode_4_2) << 2 |
                                     context.get(Mkc::access_mode_1_0));
}

// Without the entries that follow it.
struct CreateMkeyIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Field<CreateMkeyIn, 72, 24> input_mkey_index{};
  static constexpr Field<CreateMkeyIn, 96, 1> pg_access{};
  static constexpr Field<CreateMkeyIn, 97, 1> mkey_umem_valid{};
  static constexpr Part<CreateMkeyIn, Mkc, 128> memory_key_mkey_entry{};
  static constexpr Field<CreateMkeyIn, 768, 32> translations_octword_actual_size{};
  static constexpr Field<CreateMkeyIn, 800, 32> mkey_umem_id{};
  static constexpr Field<CreateMkeyIn, 832, 64> mkey_umem_offset{};
};

struct CreateMkeyOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<CreateMkeyOut, 72, 24> mkey_index{};
};

struct DestroyMkeyIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DestroyMkeyIn, 72, 24> mkey_index{};
};

struct QueryMkeyIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryMkeyIn, 72, 24> mkey_index{};
  static constexpr Field<QueryMkeyIn, 96, 1> pg_access{};
};

// With the first two entries; the others follow it.
struct QueryMkeyOut : MboxOut {
  static constexpr std::size_t kBytes = 304;
  static constexpr std::size_t kEntriesAt = 272;
  static constexpr Part<QueryMkeyOut, Mkc, 128> memory_key_mkey_entry{};
};

}  // namespace gdakit::format::prm
