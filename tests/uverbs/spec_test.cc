#include "backends/softnic/uverbs/spec.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(UverbsSpec, WhatIsNotSaidIsTheUsual) {
  const Result<Spec> spec = Spec::parse("");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->text(), "nics=1,model=7,link=roce,fabric=default");
}

TEST(UverbsSpec, ItsTextSaysAllOfIt) {
  for (const std::string text :
       {"nics=16,model=6,link=ib,fabric=a.B-9_", "nics=2,model=8,link=roce,fabric=x"}) {
    const Result<Spec> spec = Spec::parse(text);
    ASSERT_TRUE(spec) << text;
    EXPECT_EQ(spec->text(), text);
  }
  EXPECT_EQ(Spec::parse("link=ib,nics=3")->text(), "nics=3,model=7,link=ib,fabric=default");
}

struct Wrong {
  const char* text;
  const char* item;
  const char* remedy;
};

class UverbsWrongSpec : public testing::TestWithParam<Wrong> {};

TEST_P(UverbsWrongSpec, IsRefusedByKeyWithARemedy) {
  const Result<Spec> spec = Spec::parse(GetParam().text);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code(), Code::invalid_argument);
  EXPECT_THAT(spec.error().message(),
              AllOf(HasSubstr("GDAKIT_VERBS_SPEC"), HasSubstr(GetParam().item),
                    HasSubstr(GetParam().remedy)));
}

INSTANTIATE_TEST_SUITE_P(
    All, UverbsWrongSpec,
    testing::Values(
        Wrong{"nics", "nics", "write key=value"}, Wrong{"nics=2,,", "", "key=value"},
        Wrong{"nics=", "nics=", "give a number"}, Wrong{"nics=two", "nics=two", "give a number"},
        Wrong{"nics=2x", "nics=2x", "give a number"},
        Wrong{"nics=99999999999", "nics=99999999999", "give a number"},
        Wrong{"nics=0", "nics=0", "use 1 to 16"}, Wrong{"nics=-1", "nics=-1", "use 1 to 16"},
        Wrong{"nics=17", "nics=17", "use 1 to 16"}, Wrong{"model=5", "model=5", "use 6, 7 or 8"},
        Wrong{"model=cx7", "model=cx7", "give a number"},
        Wrong{"link=ethernet", "link=ethernet", "use roce or ib"},
        Wrong{"link=", "link=", "use roce or ib"},
        Wrong{"fabric=", "fabric=", "use up to 40 letters"},
        Wrong{"fabric=a/b", "fabric=a/b", "use up to 40 letters"},
        Wrong{"fabric=01234567890123456789012345678901234567890",
              "fabric=", "use up to 40 letters"},
        Wrong{"speed=4", "speed=4", "use nics, model, link, address or fabric"},
        Wrong{"=4", "=4", "use nics, model, link, address or fabric"}));

TEST(UverbsIdentity, NamesDifferByIndex) {
  const Spec spec = *Spec::parse("nics=16");
  const Identity first(spec, 0), last(spec, 15);
  EXPECT_EQ(first.name(), "mlx5_0");
  EXPECT_EQ(first.file_name(), "uverbs0");
  EXPECT_EQ(first.pci_address(), "0000:01:00.0");
  EXPECT_EQ(first.lid(), 1);
  EXPECT_EQ(last.name(), "mlx5_15");
  EXPECT_EQ(last.file_name(), "uverbs15");
  EXPECT_EQ(last.pci_address(), "0000:10:00.0");
  EXPECT_EQ(last.lid(), 16);
  EXPECT_NE(first.guid(), last.guid());
}

TEST(UverbsIdentity, ModelsAreWhatProgramsKnow) {
  EXPECT_EQ(find_model(6)->part_id, 4123u);
  EXPECT_EQ(find_model(7)->part_id, 4129u);
  EXPECT_EQ(find_model(8)->part_id, 4131u);
  EXPECT_EQ(find_model(5), nullptr);
  // 28.39.3004.
  EXPECT_EQ(Identity(Spec(), 0).firmware_number(), 28ull << 32 | 39 << 16 | 3004);
}

TEST(UverbsIdentity, EthernetHasEachAddressTwice) {
  const Identity identity(*Spec::parse("link=roce"), 2);
  ASSERT_EQ(identity.gids(), 4);
  const Gid local = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x0c, 0x42, 0xa1, 3, 0, 0, 0, 3};
  const Gid mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 3};
  EXPECT_EQ(identity.gid(0), local);
  EXPECT_EQ(identity.gid(1), local);
  EXPECT_EQ(identity.gid(2), mapped);
  EXPECT_EQ(identity.gid(3), mapped);
  EXPECT_EQ(identity.gid_type(0), 1u);
  EXPECT_EQ(identity.gid_type(1), 2u);
  EXPECT_EQ(identity.gid_type(2), 1u);
  EXPECT_EQ(identity.gid_type(3), 2u);
}

TEST(UverbsIdentity, NoTwoPortsOfNicsHaveAnAddressInCommon) {
  for (const char* const link : {"link=roce,nics=16", "link=ib,nics=16"}) {
    std::set<std::uint16_t> lids;
    std::set<Gid> gids;
    Spec spec = *Spec::parse(link);
    spec.failures = *Failures::parse("ports=2");
    for (int nic = 0; nic < 16; ++nic) {
      const Identity identity(spec, nic);
      EXPECT_EQ(identity.ports(), 2u);
      for (unsigned port = 1; port <= 2; ++port) {
        EXPECT_TRUE(lids.insert(identity.lid(port)).second);
        const int last = identity.gids() - 1;
        EXPECT_TRUE(gids.insert(identity.gid(0, port)).second);
        EXPECT_EQ(gids.insert(identity.gid(last, port)).second, last != 0);
      }
    }
  }
}

TEST(UverbsIdentity, InfinibandHasOneAddress) {
  const Identity identity(*Spec::parse("link=ib"), 0);
  EXPECT_EQ(identity.gids(), 1);
  EXPECT_EQ(identity.gid_type(0), 0u);
  EXPECT_EQ(identity.link(), LinkLayer::infiniband);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
