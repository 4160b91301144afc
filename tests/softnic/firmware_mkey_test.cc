// Memory keys that are made by mailboxes: of a umem's memory, and of parts of other keys.
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/firmware_rig.h"
#include "tests/softnic/mkey_lists.h"

namespace gdakit::softnic::test {
namespace {

using prm::CreateMkeyIn;
using prm::Mkc;
using prm::MkeyAccessMode;
using prm::Opcode;
using Sy = CommandSyndrome;

constexpr auto kMkc = CreateMkeyIn::memory_key_mkey_entry;

// Made by `other`, and used by `one`.
class FirmwareMkey : public testing::Test {
 protected:
  FirmwareMkey() {
    rig.one.connect(rig.other);
    rig.other.connect(rig.one);
    heap_umem = rig.other.firmware.add_umem(
        {{host_address(rig.other.heap.data()), rig.other.heap.size()}, kUid});
    plain = rig.other.key;
  }
  prm::Mailbox<CreateMkeyIn> umem_request() const {
    auto in = rig.other.mkey_request();
    in.set(CreateMkeyIn::mkey_umem_id, heap_umem);
    in.set(CreateMkeyIn::mkey_umem_offset, 64);
    const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
    context.set(Mkc::len, 256);
    context.set(Mkc::start_addr, 0x10000);
    return in;
  }
  prm::Mailbox<CreateMkeyIn> list_request(MkeyAccessMode mode, std::uint32_t entries,
                                          std::uint64_t length) const {
    auto in = rig.other.mkey_request();
    in.set(CreateMkeyIn::mkey_umem_valid, 0);
    in.set(CreateMkeyIn::translations_octword_actual_size, entries);
    const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
    context.set(Mkc::access_mode_1_0, static_cast<std::uint64_t>(mode));
    context.set(Mkc::translations_octword_size, entries);
    context.set(Mkc::len, length);
    return in;
  }
  // The command with what follows it.
  static std::vector<std::uint8_t> bytes_of(prm::Mailbox<CreateMkeyIn> in,
                                            const std::vector<KeyListEntry>& entries = {}) {
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::create_mkey));
    in.set(prm::MboxIn::uid, kUid);
    std::vector<std::uint8_t> bytes(in.bytes().begin(), in.bytes().end());
    bytes.resize(bytes.size() + entries.size() * sizeof(KeyListEntry));
    if (!entries.empty()) {
      std::memcpy(bytes.data() + CreateMkeyIn::kBytes, entries.data(),
                  bytes.size() - CreateMkeyIn::kBytes);
    }
    return bytes;
  }
  // Its syndrome; `key` is what it has made.
  Sy create(const std::vector<std::uint8_t>& in, std::uint8_t variant = 0x77) {
    prm::Mailbox<prm::CreateMkeyOut> out;
    static_cast<void>(rig.other.firmware.execute(in, out.bytes()));
    key = static_cast<MemoryKey>(out.get(prm::CreateMkeyOut::mkey_index)) << 8 | variant;
    return static_cast<Sy>(out.get(prm::MboxOut::syndrome));
  }
  Sy create_with(const std::function<void(prm::View<Mkc, std::uint8_t>)>& change) {
    auto in = umem_request();
    change(in.at(CreateMkeyIn::memory_key_mkey_entry));
    return create(bytes_of(in));
  }
  // By `one`, of the first bytes of its heap.
  format::Syndrome write(std::uint64_t address, std::uint32_t bytes) {
    rig.one.post(std::array{rig.one.control(format::Opcode::rdma_write, 3),
                            format::to_segment(format::remote_address(address, Be32{key})),
                            rig.one.data(0, bytes)});
    rig.run();
    const format::Cqe64 cqe = rig.one.cqe(writes++);
    return opcode_of(cqe) == format::CqeOpcode::requester ? format::Syndrome::none
                                                          : syndrome_of(cqe);
  }
  CommandStatus destroy(std::uint32_t index) {
    prm::Mailbox<prm::DestroyMkeyIn> in;
    prm::Mailbox<prm::MboxOut> out;
    in.set(prm::DestroyMkeyIn::mkey_index, index);
    return rig.other.run(Opcode::destroy_mkey, in, out);
  }
  KeyListEntry part(std::uint64_t at, std::uint32_t bytes) const {
    return klm(plain, host_address(rig.other.heap.data() + at).value, bytes);
  }

  FirmwareRig rig;
  UmemNumber heap_umem = 0;
  MemoryKey plain = 0, key = 0;
  std::uint64_t writes = 0;
};

TEST_F(FirmwareMkey, OfAUmemIsAKeyOfItsMemory) {
  ASSERT_EQ(create(bytes_of(umem_request())), Sy::none);
  std::memset(rig.one.heap.data(), 'x', 256);
  EXPECT_EQ(write(0x10000, 256), format::Syndrome::none);
  EXPECT_EQ(std::memcmp(rig.other.heap.data() + 64, rig.one.heap.data(), 256), 0);
  EXPECT_EQ(rig.other.heap.data()[63], 0);
  EXPECT_EQ(rig.other.heap.data()[320], 0);
  EXPECT_EQ(write(0x10001, 256), format::Syndrome::remote_access);
}

TEST_F(FirmwareMkey, KeepsItsUmem) {
  ASSERT_EQ(create(bytes_of(umem_request())), Sy::none);
  EXPECT_EQ(rig.other.firmware.remove_umem(heap_umem, kUid).status().syndrome,
            Sy::mailbox_umem_busy);
  ASSERT_EQ(destroy(key >> 8), CommandStatus::ok);
  rig.run();
  EXPECT_TRUE(rig.other.firmware.remove_umem(heap_umem, kUid));
  EXPECT_EQ(write(0x10000, 8), format::Syndrome::remote_access);
  EXPECT_EQ(destroy(key >> 8), CommandStatus::bad_res);
}

TEST_F(FirmwareMkey, KeepsItsProtectionDomain) {
  ASSERT_EQ(create(bytes_of(umem_request())), Sy::none);
  prm::Mailbox<prm::DeallocPdIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::DeallocPdIn::pd, rig.other.pd);
  EXPECT_EQ(rig.other.run(Opcode::dealloc_pd, in, out), CommandStatus::res_busy);
}

TEST_F(FirmwareMkey, OfKlmsIsItsParts) {
  const std::vector<KeyListEntry> entries = {part(1000, 8), part(64, 16), {}, {}};
  const auto in = list_request(MkeyAccessMode::klms, 4, 24);
  ASSERT_EQ(create(bytes_of(in, entries)), Sy::none);
  for (int i = 0; i < 24; ++i) rig.one.heap.data()[i] = static_cast<std::uint8_t>(i + 1);
  EXPECT_EQ(write(0, 24), format::Syndrome::none);
  EXPECT_EQ(std::memcmp(rig.other.heap.data() + 1000, rig.one.heap.data(), 8), 0);
  EXPECT_EQ(std::memcmp(rig.other.heap.data() + 64, rig.one.heap.data() + 8, 16), 0);
  EXPECT_EQ(write(0, 25), format::Syndrome::remote_access);
}

// As UCX makes them, with a start address that no size of parts divides.
TEST_F(FirmwareMkey, OfKsmsHasPartsOfOneSize) {
  auto in = list_request(MkeyAccessMode::ksm, 2, 0x1800);
  const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
  context.set(Mkc::log_page_size, 12);
  context.set(Mkc::start_addr, 0x123408);
  ASSERT_EQ(create(bytes_of(in, {part(0x1000, 0), part(0, 0)})), Sy::none);
  std::memset(rig.one.heap.data(), 'k', 16);
  EXPECT_EQ(write(0x123408 + 0xff8, 16), format::Syndrome::none);
  EXPECT_EQ(std::memcmp(rig.other.heap.data() + 0x1ff8, rig.one.heap.data(), 8), 0);
  EXPECT_EQ(std::memcmp(rig.other.heap.data(), rig.one.heap.data(), 8), 0);
  EXPECT_EQ(write(0x123407, 1), format::Syndrome::remote_access);
}

TEST_F(FirmwareMkey, TakesBitsOfOrderThatItNeedsNot) {
  EXPECT_EQ(create_with([](auto context) {
              context.set(Mkc::relaxed_ordering_write, 1);
              context.set(Mkc::relaxed_ordering_read, 1);
              context.set(Mkc::small_fence_on_rdma_read_response, 1);
            }),
            Sy::none);
}

TEST_F(FirmwareMkey, MayHaveNoBytes) {
  EXPECT_EQ(create_with([](auto context) { context.set(Mkc::len, 0); }), Sy::none);
}

TEST_F(FirmwareMkey, RefusesWhatItCannotBe) {
  const auto set = [](auto field, std::uint64_t value) {
    return [=](prm::View<Mkc, std::uint8_t> context) { context.set(field, value); };
  };
  EXPECT_EQ(create_with(set(Mkc::pd, 99)), Sy::create_mkey_pd);
  EXPECT_EQ(create_with(set(Mkc::len, rig.other.heap.size() - 63)), Sy::mailbox_umem_range);
  EXPECT_EQ(create_with(set(Mkc::length64, 1)), Sy::mailbox_umem_range);
  EXPECT_EQ(create_with(set(Mkc::start_addr, ~std::uint64_t{0})), Sy::reg_mr_wraps);
  EXPECT_EQ(create_with(set(Mkc::lw, 0)), Sy::reg_mr_rights);
  EXPECT_EQ(create_with(set(Mkc::umr_en, 1)), Sy::create_mkey_umr);
  EXPECT_EQ(create_with(set(Mkc::access_mode_1_0, 0)), Sy::mailbox_mkey_mode) << "PA";
  for (const std::uint64_t high : {1, 7}) {
    EXPECT_EQ(create_with(set(Mkc::access_mode_4_2, high)), Sy::mailbox_mkey_mode);
  }
  EXPECT_EQ(create_with(set(Mkc::bsf_en, 1)), Sy::mailbox_absent_feature);
  EXPECT_EQ(create_with(set(Mkc::bsf_octword_size, 4)), Sy::mailbox_absent_feature);
  EXPECT_EQ(create_with(set(Mkc::sync_umr, 1)), Sy::mailbox_absent_feature);
  EXPECT_EQ(create_with(set(Mkc::expected_sigerr_count, 1)), Sy::mailbox_absent_feature);
  EXPECT_EQ(create_with(set(Mkc::crypto_en, 1)), Sy::mailbox_absent_feature);
  EXPECT_EQ(create_with(set(Mkc::ma_translation_mode, 1)), Sy::mailbox_absent_feature);
  auto in = umem_request();
  in.set(CreateMkeyIn::mkey_umem_valid, 0);
  EXPECT_EQ(create(bytes_of(in)), Sy::mailbox_no_umem);
  in = umem_request();
  in.set(CreateMkeyIn::mkey_umem_id, 99);
  EXPECT_EQ(create(bytes_of(in)), Sy::mailbox_umem_absent);
  in = umem_request();
  in.set(CreateMkeyIn::input_mkey_index, 5);
  EXPECT_EQ(create(bytes_of(in)), Sy::mailbox_mkey_index);
  EXPECT_TRUE(rig.other.firmware.remove_umem(heap_umem, kUid)) << "no key has been made";
}

TEST_F(FirmwareMkey, RefusesListsThatAreNone) {
  const std::vector<KeyListEntry> entries = {part(0, 8), part(64, 8)};
  const auto syndrome = [&](auto change) {
    auto in = list_request(MkeyAccessMode::klms, 2, 16);
    change(in);
    return create(bytes_of(in, entries));
  };
  using In = prm::Mailbox<CreateMkeyIn>;
  EXPECT_EQ(syndrome([](In&) {}), Sy::none);
  EXPECT_EQ(syndrome([](In& in) { in.at(kMkc).set(Mkc::translations_octword_size, 0); }),
            Sy::create_mkey_list_size);
  EXPECT_EQ(syndrome([](In& in) { in.at(kMkc).set(Mkc::translations_octword_size, 0xffffffff); }),
            Sy::create_mkey_list_size);
  EXPECT_EQ(syndrome([](In& in) { in.at(kMkc).set(Mkc::translations_octword_size, 1); }),
            Sy::create_mkey_list);
  EXPECT_EQ(syndrome([](In& in) { in.at(kMkc).set(Mkc::len, 17); }), Sy::create_mkey_length);
  for (const std::uint64_t actual : {3u, 0xffffffffu}) {
    EXPECT_EQ(
        syndrome([=](In& in) { in.set(CreateMkeyIn::translations_octword_actual_size, actual); }),
        Sy::mailbox_in_length);
  }
}

// At every length of its mailbox, entries included.
TEST_F(FirmwareMkey, RefusesListsThatAreCut) {
  const auto whole = bytes_of(list_request(MkeyAccessMode::klms, 2, 16), {part(0, 8), part(8, 8)});
  for (std::size_t size = 16; size < whole.size(); ++size) {
    const std::vector<std::uint8_t> cut(whole.begin(),
                                        whole.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_EQ(create(cut), Sy::mailbox_in_length) << size;
  }
  EXPECT_EQ(create(whole), Sy::none);
}

TEST_F(FirmwareMkey, AQueryTellsWhatItIs) {
  const std::vector<KeyListEntry> entries = {part(0, 8), part(64, 8), part(128, 8)};
  auto in = list_request(MkeyAccessMode::klms, 3, 24);
  in.at(CreateMkeyIn::memory_key_mkey_entry).set(Mkc::start_addr, 0x5000);
  in.at(CreateMkeyIn::memory_key_mkey_entry).set(Mkc::rr, 0);
  ASSERT_EQ(create(bytes_of(in, entries)), Sy::none);
  prm::Mailbox<prm::QueryMkeyIn> query;
  query.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_mkey));
  query.set(prm::MboxIn::uid, kUid);
  query.set(prm::QueryMkeyIn::mkey_index, key >> 8);
  const auto ask = [&](std::size_t bytes) {
    std::vector<std::uint8_t> out(bytes, 0xee);
    EXPECT_EQ(rig.other.firmware.execute(query.bytes(), out), CommandStatus::ok);
    return out;
  };
  const auto out = ask(400);
  const auto context =
      prm::View<prm::QueryMkeyOut>(out).at(prm::QueryMkeyOut::memory_key_mkey_entry);
  EXPECT_EQ(context.get(Mkc::start_addr), 0x5000u);
  EXPECT_EQ(context.get(Mkc::len), 24u);
  EXPECT_EQ(context.get(Mkc::pd), rig.other.pd);
  EXPECT_EQ(context.get(Mkc::mkey_7_0), 0x77u);
  EXPECT_EQ(context.get(Mkc::qpn), prm::kMkcOfAnyQp);
  EXPECT_EQ(context.get(Mkc::lw), 1u);
  EXPECT_EQ(context.get(Mkc::rr), 0u);
  EXPECT_EQ(context.get(Mkc::free), 0u);
  EXPECT_TRUE(std::all_of(out.begin() + prm::QueryMkeyOut::kEntriesAt, out.end(),
                          [](std::uint8_t byte) { return byte == 0; }));
  query.set(prm::QueryMkeyIn::pg_access, 1);
  for (const std::size_t bytes : {400, 304, 319, 16}) {
    const auto with_entries = ask(bytes);
    const std::size_t room = bytes < 304 ? 0 : (bytes - prm::QueryMkeyOut::kEntriesAt) / 16;
    const std::size_t count = std::min(room, entries.size());
    if (count == 0) continue;
    EXPECT_EQ(std::memcmp(with_entries.data() + prm::QueryMkeyOut::kEntriesAt, entries.data(),
                          count * sizeof(KeyListEntry)),
              0)
        << bytes;
  }
  query.set(prm::MboxIn::uid, kUid + 1);
  std::vector<std::uint8_t> refused(304);
  EXPECT_EQ(rig.other.firmware.execute(query.bytes(), refused), CommandStatus::bad_res);
}

// What WQEs change, a query tells.
TEST_F(FirmwareMkey, AQueryTellsWhatHasBecomeOfIt) {
  auto in = list_request(MkeyAccessMode::klms, 0, 0);
  const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
  context.set(Mkc::translations_octword_size, 4);
  context.set(Mkc::free, 1);
  context.set(Mkc::umr_en, 1);
  ASSERT_EQ(create(bytes_of(in)), Sy::none);
  const Umr umr = list_umr({.key = key, .entries = {part(0, 8)}, .length = 8});
  const std::vector<format::Segment> body = umr.segments();
  std::array<format::Segment, 12> wqe{};
  wqe[0] = format::to_segment(format::control(format::Opcode::umr, 0,
                                              format::wire_index(rig.other.producer), rig.other.qpn,
                                              12, 8, Be32{key}));
  std::ranges::copy(body, wqe.begin() + 1);
  rig.other.post(wqe);
  rig.run();
  prm::Mailbox<prm::QueryMkeyIn> query;
  prm::Mailbox<prm::QueryMkeyOut> out;
  query.set(prm::QueryMkeyIn::mkey_index, key >> 8);
  ASSERT_EQ(rig.other.run(Opcode::query_mkey, query, out), CommandStatus::ok);
  const auto now = out.at(prm::QueryMkeyOut::memory_key_mkey_entry);
  EXPECT_EQ(now.get(Mkc::free), 0u);
  EXPECT_EQ(now.get(Mkc::len), 8u);
  EXPECT_EQ(now.get(Mkc::umr_en), 1u);
  EXPECT_EQ(write(0, 8), format::Syndrome::none);
}

// Whatever the fields say, there is an answer, and accesses by the key end.
TEST_F(FirmwareMkey, OfRandomFieldsIsAnswered) {
  std::mt19937 random{3};
  int made = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool is_list = random() % 2 == 0;
    std::vector<std::uint8_t> in =
        is_list ? bytes_of(list_request(MkeyAccessMode::klms, 2, 16), {part(0, 8), part(64, 8)})
                : bytes_of(umem_request());
    for (std::uint32_t changes = random() % 5; changes != 0; --changes) {
      const std::size_t at = 4 + random() % (in.size() - 4);
      in[at] = static_cast<std::uint8_t>(random());
    }
    if (create(in) != Sy::none) continue;
    ++made;
    static_cast<void>(destroy(key >> 8));
  }
  EXPECT_GT(made, 1000);
}

}  // namespace
}  // namespace gdakit::softnic::test
