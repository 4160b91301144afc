#include "core/base/hca_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
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

TEST(HcaList, TellsThePortsThatItAsksForOfADevice) {
  const HcaList list = list_of("mlx5_0:2,mlx5_1,mlx5_0:1");
  EXPECT_THAT(list.ports_of("mlx5_0"), ElementsAre(2, 1));
  EXPECT_THAT(list.ports_of("mlx5_1"), IsEmpty());
  EXPECT_THAT(list.ports_of("mlx5_2"), IsEmpty());
  EXPECT_THAT(list_of("^mlx5_0:2").ports_of("mlx5_0"), IsEmpty()) << "it asks for all others";
}

TEST(HcaList, SharesAPortWithAListOfTheSamePortOrOfAllPorts) {
  EXPECT_TRUE(list_of("mlx5_0:2").shares_a_port(list_of("mlx5_3,mlx5_0:2")));
  EXPECT_TRUE(list_of("mlx5_0:2").shares_a_port(list_of("mlx5_0")));
  EXPECT_TRUE(list_of("mlx5_0").shares_a_port(list_of("mlx5_0:1")));
  EXPECT_FALSE(list_of("mlx5_0:1").shares_a_port(list_of("mlx5_3,mlx5_0:2")));
  EXPECT_FALSE(list_of("mlx5_0").shares_a_port(list_of("mlx5_01")));
  EXPECT_FALSE(list_of("mlx5_0").shares_a_port(HcaList()));
}

HcaMap map_of(const char* text) { return HcaMap::parse(text).value(); }

std::vector<std::string> names_of(const HcaMap& map, std::size_t local_rank) {
  std::vector<std::string> names;
  for (const HcaList& nic : map.of(local_rank)) names.push_back(nic.text());
  return names;
}

TEST(HcaMap, GivesPesOfAHostTheirNicsInTurn) {
  const HcaMap map = map_of("mlx5_0,mlx5_3:2");
  EXPECT_THAT(names_of(map, 0), ElementsAre("mlx5_0"));
  EXPECT_THAT(names_of(map, 1), ElementsAre("mlx5_3:2"));
  EXPECT_THAT(names_of(map, 2), ElementsAre("mlx5_0"));
  EXPECT_TRUE(map.of(1).front().allows("mlx5_3", 2));
  EXPECT_FALSE(map.of(1).front().allows("mlx5_3", 1));
}

TEST(HcaMap, GivesAPeSeveralNicsInTheirOrder) {
  const HcaMap map = map_of("mlx5_1+mlx5_0,mlx5_2+mlx5_3:1");
  EXPECT_THAT(names_of(map, 0), ElementsAre("mlx5_1", "mlx5_0"));
  EXPECT_THAT(names_of(map, 1), ElementsAre("mlx5_2", "mlx5_3:1"));
  EXPECT_THAT(names_of(map, 2), ElementsAre("mlx5_1", "mlx5_0"));
}

TEST(HcaMap, IsWrittenAsItIsRead) {
  for (const char* text : {"", "a", "mlx5_0,mlx5_3:2", "a+b:1,c+d", "a+b+c"}) {
    EXPECT_EQ(map_of(text).text(), text);
  }
}

TEST(HcaMap, ThatIsEmptyNamesNone) {
  EXPECT_TRUE(HcaMap().empty());
  EXPECT_TRUE(map_of("").empty());
  EXPECT_FALSE(map_of("a").empty());
  EXPECT_THAT(map_of("").of(5), IsEmpty());
}

TEST(HcaMap, IsRefusedWithoutANameOrWithACaret) {
  for (const char* text : {",", "mlx5_0,", "^mlx5_0", "mlx5_0,^mlx5_1", "mlx5_0:0", "+", "mlx5_0+",
                           "+mlx5_0", "a++b", "a+^b", "a+b,", "a+b:0"}) {
    EXPECT_FALSE(HcaMap::parse(text)) << text;
  }
}

TEST(HcaMap, FitsWhereEachEntryHasAsManyNicsAsAPe) {
  for (std::size_t nics = 1; nics <= 8; ++nics) EXPECT_EQ(HcaMap().misfit(nics), "");
  EXPECT_EQ(map_of("a,b:1").misfit(1), "");
  EXPECT_EQ(map_of("a+b,c+d").misfit(2), "");
  EXPECT_EQ(map_of("a+b,c+d,a+b").misfit(2), "");
  EXPECT_EQ(map_of("a:1+a:2,a:2+b").misfit(2), "") << "each port is a NIC";
}

TEST(HcaMap, ThatDoesNotFitNamesTheEntry) {
  EXPECT_EQ(map_of("a+b,c:1").misfit(2),
            "GDAKIT_HCA_MAP: its entry c:1 names 1 NIC, where a PE takes 2; give each entry as "
            "many, joined by +, or change GDAKIT_NICS_PER_PE");
  EXPECT_THAT(map_of("a,b+c+d").misfit(1), HasSubstr("its entry b+c+d names 3 NICs, where a PE "
                                                     "takes 1"));
  EXPECT_EQ(map_of("a+b,c+d:1+c:2").misfit(2).find("a+b names"), std::string::npos);
}

TEST(HcaMap, ThatGivesAPeOneNicTwiceNamesIt) {
  EXPECT_EQ(map_of("a+b,c:2+c:2").misfit(2),
            "GDAKIT_HCA_MAP: its entry c:2+c:2 names c:2 a second time; give a PE different NICs, "
            "or different ports of one (mlx5_0:1+mlx5_0:2), or lower GDAKIT_NICS_PER_PE");
  EXPECT_THAT(map_of("c+c:2").misfit(2), HasSubstr("names c:2 a second time"));
  EXPECT_THAT(map_of("c:2+c").misfit(2), HasSubstr("names c a second time"));
}

}  // namespace
}  // namespace gdakit
