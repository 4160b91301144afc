// Who has which address on a fabric.
#include "backends/softnic/uverbs/fabric_addresses.h"

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/fabric.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr Endpoint kPlace = 37;

AddressVector to_gid(const Gid& gid) {
  AddressVector address;
  address.gid = gid;
  address.qpn = first_qpn(kPlace) + 5;
  return address;
}

AddressVector to_lid(std::uint16_t lid) {
  AddressVector address = to_gid({});
  address.lid = lid;
  return address;
}

TEST(FabricAddresses, GidsOfNicsWithAnyIndexLeadToThePlaceOfTheQpn) {
  const Spec spec = *Spec::parse("nics=2,link=roce");
  FabricAddresses addresses(spec, 1);
  for (int nic = 0; nic < kMostNics; ++nic) {
    const Identity one(spec, nic);
    for (int index = 0; index < one.gids(); ++index) {
      EXPECT_EQ(addresses.endpoint_of(to_gid(one.gid(index))), kPlace) << nic << ": " << index;
      EXPECT_EQ(addresses.endpoint_of(to_gid(one.gid(index, 2))), kPlace) << nic << ": " << index;
    }
  }
}

TEST(FabricAddresses, NobodyHasOtherGids) {
  FabricAddresses addresses(*Spec::parse("link=roce"), 0);
  const Gid multicast = {0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const Gid other_host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 0, 1};
  const Gid behind_the_last = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 33};
  for (const Gid& gid : {Gid{}, multicast, other_host, behind_the_last}) {
    EXPECT_FALSE(addresses.endpoint_of(to_gid(gid)));
  }
  EXPECT_FALSE(addresses.endpoint_of(to_lid(1))) << "a LID is no address on Ethernet";
}

TEST(FabricAddresses, OnInfinibandTheLidIsEnough) {
  const Spec spec = *Spec::parse("link=ib");
  FabricAddresses addresses(spec, 0);
  EXPECT_EQ(addresses.endpoint_of(to_lid(1)), kPlace);
  EXPECT_EQ(addresses.endpoint_of(to_lid(2 * kMostNics)), kPlace) << "of a second port";
  EXPECT_FALSE(addresses.endpoint_of(to_lid(0)));
  EXPECT_FALSE(addresses.endpoint_of(to_lid(2 * kMostNics + 1)));
  EXPECT_FALSE(addresses.endpoint_of(to_lid(0xc001))) << "of a multicast group";
  EXPECT_EQ(addresses.endpoint_of(to_gid(Identity(spec, 3).gid(0))), kPlace);
}

TEST(FabricAddresses, TheSenderIsToldByTheReceiversOwnAddressWhichLeadsBack) {
  for (const char* link : {"link=roce", "link=ib"}) {
    const Spec spec = *Spec::parse(link);
    const Identity own(spec, 2);
    FabricAddresses addresses(spec, 2);
    const PortAddress told = addresses.address_of(kPlace);
    EXPECT_EQ(told.gid, own.gid(0));
    EXPECT_EQ(told.lid, spec.link == LinkLayer::infiniband ? own.lid() : 0);
    AddressVector back = to_gid(told.gid);
    back.lid = told.lid;
    EXPECT_EQ(addresses.endpoint_of(back), kPlace);
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
