// Attributes of a call, as a client may have built them.
#include "backends/softnic/uverbs/attributes.h"

#include <array>
#include <cerrno>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "tests/uverbs/caller.h"

namespace gdakit::softnic::uverbs {
namespace {

using test::address_of;
using test::kNowhere;

constexpr std::uint16_t kId = 7;

// A header with one attribute.
struct OneAttribute {
  explicit OneAttribute(std::uint64_t data, std::size_t size) {
    header.length = sizeof header + sizeof attribute;
    header.num_attrs = 1;
    attribute.attr_id = kId;
    attribute.len = static_cast<std::uint16_t>(size);
    attribute.data = data;
  }
  int open(Attributes& to) const { return to.open(address_of(this)); }

  CallHeader header;
  ib_uverbs_attr attribute{};
};

TEST(UverbsAttributes, ShortInputsStandInTheAttribute) {
  const OneAttribute raw(0x1122334455667788, 4);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::uint32_t value = 0;
  EXPECT_EQ(call.read(kId, value), 0);
  EXPECT_EQ(value, 0x55667788u);
  EXPECT_TRUE(call.has(kId));
  EXPECT_EQ(call.length(kId), 4u);
}

TEST(UverbsAttributes, LongInputsAreRead) {
  const std::array<std::uint64_t, 2> from{1, 2};
  const OneAttribute raw(address_of(&from), sizeof from);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::array<std::uint64_t, 2> to{};
  EXPECT_EQ(call.read(kId, to), 0);
  EXPECT_EQ(to, from);
}

TEST(UverbsAttributes, AbsentOnesAreRefusedOnlyIfTheyMustBeThere) {
  const OneAttribute raw(0, 4);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::uint32_t value = 5;
  EXPECT_EQ(call.read(kId + 1, value), EINVAL);
  EXPECT_EQ(call.read_known(kId + 1, value), 0);
  EXPECT_EQ(value, 0u);
  EXPECT_FALSE(call.has(kId + 1));
  EXPECT_EQ(call.length(kId + 1), 0u);
  EXPECT_EQ(call.write(kId + 1, value), 0);
  EXPECT_EQ(call.number(kId + 1, value), EINVAL);
  EXPECT_EQ(call.give_number(kId + 1, 1), EINVAL);
}

TEST(UverbsAttributes, TooShortOnesAreRefusedOnlyIfTheyMustBeWhole) {
  const OneAttribute raw(0xffffffffffff1234, 2);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::uint32_t value = 0;
  EXPECT_EQ(call.read(kId, value), EINVAL);
  EXPECT_EQ(call.read_known(kId, value), 0);
  EXPECT_EQ(value, 0x1234u);
}

TEST(UverbsAttributes, AnEmptyInputSaysZero) {
  const OneAttribute raw(kNowhere, 0);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::uint32_t value = 5;
  EXPECT_EQ(call.read(kId, value), EINVAL);
  EXPECT_EQ(call.read_known(kId, value), 0);
  EXPECT_EQ(value, 0u);
}

TEST(UverbsAttributes, ALongerInputMaySayNothingMore) {
  std::array<std::uint32_t, 4> from{9, 8, 0, 0};
  const OneAttribute raw(address_of(&from), sizeof from);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::uint64_t value = 0;
  EXPECT_EQ(call.read(kId, value), 0);
  EXPECT_EQ(value, 0x0000000800000009u);
  from[3] = 1;
  EXPECT_EQ(call.read(kId, value), EOPNOTSUPP);
  EXPECT_EQ(call.read_known(kId, value), EOPNOTSUPP);
}

TEST(UverbsAttributes, ALongerInlineInputMaySayNothingMore) {
  const OneAttribute zero(0x0000000000000003, 8);
  const OneAttribute more(0x0000000100000003, 8);
  Attributes call;
  std::uint32_t value = 0;
  ASSERT_EQ(zero.open(call), 0);
  EXPECT_EQ(call.read(kId, value), 0);
  ASSERT_EQ(more.open(call), 0);
  EXPECT_EQ(call.read(kId, value), EOPNOTSUPP);
}

TEST(UverbsAttributes, MemoryThatIsNotThereIsAFault) {
  const OneAttribute raw(kNowhere, 16);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::array<std::uint64_t, 2> value{};
  EXPECT_EQ(call.read(kId, value), EFAULT);
  EXPECT_EQ(call.write(kId, value), EFAULT);
  EXPECT_EQ(Attributes().open(kNowhere), EFAULT);
}

TEST(UverbsAttributes, AnOutputGetsWhatItHasRoomFor) {
  std::array<std::uint32_t, 4> to{};
  OneAttribute raw(address_of(&to), 8);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  EXPECT_EQ(call.write(kId, std::array<std::uint32_t, 4>{1, 2, 3, 4}), 0);
  EXPECT_EQ(to, (std::array<std::uint32_t, 4>{1, 2, 0, 0}));
  EXPECT_EQ(raw.attribute.flags, UVERBS_ATTR_F_VALID_OUTPUT);
  EXPECT_EQ(raw.attribute.len, 8);

  OneAttribute roomy(address_of(&to), sizeof to);
  ASSERT_EQ(roomy.open(call), 0);
  EXPECT_EQ(call.write(kId, std::uint32_t{7}), 0);
  EXPECT_EQ(to, (std::array<std::uint32_t, 4>{7, 2, 0, 0}));
}

TEST(UverbsAttributes, NumbersHaveNoBuffer) {
  OneAttribute raw(3, 0);
  Attributes call;
  ASSERT_EQ(raw.open(call), 0);
  std::uint32_t value = 0;
  EXPECT_EQ(call.number(kId, value), 0);
  EXPECT_EQ(value, 3u);
  EXPECT_EQ(call.give_number(kId, 12), 0);
  EXPECT_EQ(raw.attribute.data, 12u);

  ASSERT_EQ(OneAttribute(3, 4).open(call), 0);
  EXPECT_EQ(call.number(kId, value), EINVAL);
}

TEST(UverbsAttributes, NumbersBeyond32BitsAreNoNumbers) {
  Attributes call;
  std::uint32_t value = 0;
  ASSERT_EQ(OneAttribute(0x100000003, 0).open(call), 0);
  EXPECT_EQ(call.number(kId, value), EINVAL);
}

TEST(UverbsAttributes, TheHeadersLengthIsWhatItsAttributesTake) {
  Attributes call;
  OneAttribute raw(0, 0);
  raw.header.length += 1;
  EXPECT_EQ(raw.open(call), EINVAL);
  raw.header.length -= 2;
  EXPECT_EQ(raw.open(call), EINVAL);
  raw.header.length = 0;
  EXPECT_EQ(raw.open(call), EINVAL);
  raw.header.length = sizeof raw.header;
  raw.header.num_attrs = 0;
  EXPECT_EQ(raw.open(call), 0);
  EXPECT_FALSE(call.has(kId));
}

TEST(UverbsAttributes, AHeaderIsAtMostAPage) {
  Attributes call;
  std::array<ib_uverbs_attr, 300> many{};
  auto* const header = reinterpret_cast<CallHeader*>(many.data());
  header->num_attrs = 254;
  header->length = sizeof *header + 254 * sizeof many[0];
  EXPECT_EQ(call.open(address_of(header)), 0);
  header->num_attrs = 255;
  header->length = sizeof *header + 255 * sizeof many[0];
  EXPECT_EQ(call.open(address_of(header)), EINVAL);
}

TEST(UverbsAttributes, ReservedWordsAreForLaterVersions) {
  Attributes call;
  OneAttribute raw(0, 0);
  raw.header.reserved1 = 1;
  EXPECT_EQ(raw.open(call), EPROTONOSUPPORT);
  raw.header.reserved1 = 0;
  raw.header.reserved2 = 1;
  EXPECT_EQ(raw.open(call), EPROTONOSUPPORT);
}

TEST(UverbsAttributes, AttributesBehindTheEndOfMemoryAreAFault) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::byte* const behind = static_cast<std::byte*>(memory) + page;
  ASSERT_EQ(::mprotect(behind, page, PROT_NONE), 0);
  CallHeader header;
  header.num_attrs = 1;
  header.length = sizeof header + sizeof(ib_uverbs_attr);
  std::memcpy(behind - sizeof header, &header, sizeof header);
  EXPECT_EQ(Attributes().open(address_of(behind - sizeof header)), EFAULT);
  ::munmap(memory, 2 * page);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
