#include "core/host/bootstrap/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit {
namespace {

using testing::HasSubstr;

Bytes bytes_of(const std::string& text) { return to_bytes(text.data(), text.size()); }

TEST(Part, ComesAsItWasGiven) {
  for (const Bytes& given : {Bytes(), bytes_of("card"), Bytes(300, std::byte{0})}) {
    const Result<Bytes> part = part_of_blob(blob_of_part(given), 3, "its card");
    ASSERT_TRUE(part) << part.error().message();
    EXPECT_EQ(*part, given);
  }
}

TEST(Part, ThatAPeCouldNotMakeBringsItsReason) {
  const Error why(Code::unavailable, "CREATE_QP on mlx5_0: no more");
  const Result<Bytes> part = part_of_blob(blob_of_part(why), 3, "its part of the queues");
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code(), Code::exhausted);
  EXPECT_EQ(part.error().message(),
            "PE 3 could not make its part of the queues: CREATE_QP on mlx5_0: no more");
}

TEST(Part, IsNotTakenFromOtherBytes) {
  for (const Bytes& blob : {Bytes(), Bytes{std::byte{2}, std::byte{0}}}) {
    const Result<Bytes> part = part_of_blob(blob, 1, "its card");
    ASSERT_FALSE(part);
    EXPECT_EQ(part.error().code(), Code::invalid_argument);
    EXPECT_THAT(part.error().message(), HasSubstr("PE 1 gave bytes that are not its card"));
  }
}

}  // namespace
}  // namespace gdakit
