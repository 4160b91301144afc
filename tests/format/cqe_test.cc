// Golden bytes of completion queue entries. The two error CQEs are bytes 48..63 of hardware's own,
// as public bug reports show them.
#include "core/format/cqe.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/base/bits.h"
#include "tests/format/hex.h"

namespace gdakit::format {
namespace {

// The first 48 bytes of those reports were zero or private.
const std::string kZeros = std::string(96, '0');
const std::string kReadDump = kZeros + "00000000 00008813 10012abe 0dd0c1d3";
const std::string kWriteDump = kZeros + "00000000 00008813 08006214 0000f6d2";

// The last eight bytes of a CQE as one load reads them.
template <class Cqe>
CqeTail tail_of(const Cqe& cqe) {
  struct Split {
    std::uint8_t front[kCqeTailOffset];
    std::uint8_t tail[8];
  };
  struct Tail {
    std::uint8_t bytes[8];
  };
  const Split split = bit_cast<Split>(cqe);
  Tail tail{};
  for (int i = 0; i < 8; ++i) tail.bytes[i] = split.tail[i];
  return {bit_cast<std::uint64_t>(tail)};
}

TEST(ErrorCqe, ReadsTheHardwareDumpOfAnRdmaRead) {
  const auto cqe = from_hex<ErrorCqe>(kReadDump);
  EXPECT_EQ(cqe.vendor_err_synd, vendor::remote_access);
  EXPECT_EQ(cqe.syndrome, static_cast<std::uint8_t>(Syndrome::remote_access));
  EXPECT_EQ(cqe.s_wqe_opcode_qpn, 0x10012abeu);
  EXPECT_EQ(cqe.wqe_counter, 0x0dd0);
  EXPECT_EQ(cqe.signature, 0xc1);
  EXPECT_EQ(cqe.op_own, op_own(CqeOpcode::requester_error, true, true));
  EXPECT_EQ(cqe_opcode(cqe.op_own), CqeOpcode::requester_error);
}

TEST(ErrorCqe, ReadsTheHardwareDumpOfAnRdmaWrite) {
  const auto cqe = from_hex<ErrorCqe>(kWriteDump);
  EXPECT_EQ(cqe.vendor_err_synd, 0x88);
  EXPECT_EQ(cqe.syndrome, 0x13);
  EXPECT_EQ(cqe.s_wqe_opcode_qpn, 0x08006214u);
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(cqe.signature, 0xf6);
  EXPECT_EQ(cqe.op_own, op_own(CqeOpcode::requester_error, false, true));
}

TEST(ErrorCqe, IsWrittenAsTheHardwareDump) {
  ErrorCqe cqe{};
  cqe.vendor_err_synd = vendor::remote_access;
  cqe.syndrome = static_cast<std::uint8_t>(Syndrome::remote_access);
  cqe.s_wqe_opcode_qpn = Be32{0x10012abe};
  cqe.wqe_counter = Be16{0x0dd0};
  cqe.signature = 0xc1;
  cqe.op_own = op_own(CqeOpcode::requester_error, true, true);
  EXPECT_EQ(hex(cqe), hex(from_hex<ErrorCqe>(kReadDump)));
}

TEST(CqeTail, ReadsTheLastEightBytesOfADump) {
  const CqeTail read = tail_of(from_hex<ErrorCqe>(kReadDump));
  EXPECT_EQ(read.raw, 0xd3c1'd00d'be2a'0110u);
  EXPECT_EQ(read.send_opcode(), 0x10);
  EXPECT_EQ(read.qpn(), 0x012abeu);
  EXPECT_EQ(read.wqe_counter(), 0x0dd0);
  EXPECT_EQ(read.op_own(), 0xd3);
  EXPECT_EQ(read.opcode(), CqeOpcode::requester_error);

  const CqeTail write = tail_of(from_hex<ErrorCqe>(kWriteDump));
  EXPECT_EQ(write.send_opcode(), 0x08);
  EXPECT_EQ(write.qpn(), 0x006214u);
  EXPECT_EQ(write.wqe_counter(), 0);
}

TEST(CqeTail, OfAnUntouchedQueueIsInvalidWithNothingCompleted) {
  constexpr CqeTail kUntouched{0x0101010101010101u * kInvalidCqeByte};
  static_assert(kUntouched.opcode() == CqeOpcode::invalid);
  static_assert(static_cast<std::uint16_t>(kUntouched.wqe_counter() + 1) == 0);
  EXPECT_EQ(kUntouched.op_own() & 1, 1) << "the owner bit of a queue that nothing was written to";
}

TEST(Cqe64, PlacesARequesterCompletion) {
  Cqe64 cqe{};
  cqe.srqn_uidx = Be32{0x00123456};
  cqe.byte_cnt = Be32{8};
  cqe.timestamp = Be64{0x0102030405060708};
  cqe.sop_drop_qpn = Be32{0x12abcdef};
  cqe.wqe_counter = Be16{0x7ffe};
  cqe.op_own = op_own(CqeOpcode::requester, true);
  EXPECT_EQ(hex(cqe),
            "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
            "00123456 00000000 00000000 00000008 01020304 05060708 12abcdef 7ffe0001");
}

TEST(OpOwn, PlacesOpcodeSolicitedAndOwner) {
  static_assert(op_own(CqeOpcode::requester, false) == 0x00);
  static_assert(op_own(CqeOpcode::responder_send_imm, true) == 0x31);
  static_assert(op_own(CqeOpcode::requester_error, false, true) == 0xd2);
  static_assert(cqe_opcode(kInvalidCqeByte) == CqeOpcode::invalid);
  EXPECT_EQ(op_own(CqeOpcode::responder_error, true, true), 0xe3);
}

}  // namespace
}  // namespace gdakit::format
