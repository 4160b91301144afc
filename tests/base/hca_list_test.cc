#include "core/base/hca_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

HcaList list_of(const char* text) { return HcaList::parse(text).value(); }

TEST(HcaList, ThatIsEmptyAllowsEverything) {
  EXPECT_TRUE(list_of("").allows("mlx5_0", 1));
  EXPECT_TRUE(HcaList().allows("rocep1s0", 2));
}

TEST(HcaList, AllowsWhatItNames) {
  const HcaList list = list_of("mlx5_0,mlx5_3:2");
  EXPECT_TRUE(list.allows("mlx5_0", 1));
  EXPECT_TRUE(list.allows("mlx5_0", 2));
  EXPECT_TRUE(list.allows("mlx5_3", 2));
  EXPECT_FALSE(list.allows("mlx5_3", 1));
  EXPECT_FALSE(list.allows("mlx5_30", 2));
  EXPECT_FALSE(list.allows("mlx5", 1));
}

TEST(HcaList, AllowsAllButWhatItNamesBehindACaret) {
  const HcaList list = list_of("^mlx5_0,mlx5_3:2");
  EXPECT_FALSE(list.allows("mlx5_0", 1));
  EXPECT_FALSE(list.allows("mlx5_3", 2));
  EXPECT_TRUE(list.allows("mlx5_3", 1));
  EXPECT_TRUE(list.allows("mlx5_1", 1));
}

TEST(HcaList, IsRefusedWithoutANameOrWithABadPort) {
  for (const char* text : {"^", ",", "mlx5_0,", ",mlx5_0", ":1", "mlx5_0:", "mlx5_0:0",
                           "mlx5_0:256", "mlx5_0:1x", "mlx5_0:-1", "mlx5_0:1:2"}) {
    EXPECT_FALSE(HcaList::parse(text)) << text;
  }
}

TEST(HcaList, KnowsWhichOfTheNamesThatItAsksForNobodyHas) {
  EXPECT_THAT(list_of("mlx5_0,mlx_1:2").unknown({"mlx5_0", "mlx5_1"}), ElementsAre("mlx_1"));
  EXPECT_THAT(list_of("^mlx5_7").unknown({"mlx5_0"}), IsEmpty());
}

TEST(HcaList, IsWrittenAsItIsRead) {
  for (const char* text : {"", "mlx5_0", "^mlx5_0:1,a", "b,c:255"}) {
    EXPECT_EQ(list_of(text).text(), text);
  }
}

TEST(HcaMap, GivesPesOfAHostTheirNicsInTurn) {
  const HcaMap map = HcaMap::parse("mlx5_0,mlx5_3:2").value();
  EXPECT_TRUE(map.of(0).allows("mlx5_0", 1));
  EXPECT_FALSE(map.of(0).allows("mlx5_3", 2));
  EXPECT_TRUE(map.of(1).allows("mlx5_3", 2));
  EXPECT_FALSE(map.of(1).allows("mlx5_3", 1));
  EXPECT_TRUE(map.of(2).allows("mlx5_0", 1));
  EXPECT_EQ(map.text(), "mlx5_0,mlx5_3:2");
}

TEST(HcaMap, ThatIsEmptyAllowsEverything) {
  EXPECT_TRUE(HcaMap().empty());
  EXPECT_TRUE(HcaMap::parse("").value().of(5).allows("mlx5_0", 1));
}

TEST(HcaMap, IsRefusedWithoutANameOrWithACaret) {
  for (const char* text : {",", "mlx5_0,", "^mlx5_0", "mlx5_0,^mlx5_1", "mlx5_0:0"}) {
    EXPECT_FALSE(HcaMap::parse(text)) << text;
  }
}

}  // namespace
}  // namespace gdakit
