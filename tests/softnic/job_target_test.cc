// What a PE's target of DC is called, and the doorbell registers of queues without a record.
#include "backends/softnic/job_target.h"

#include <cstring>

#include <gtest/gtest.h>

#include "backends/softnic/doorbell_registers.h"
#include "core/format/cq_doorbell.h"
#include "core/host/memory/host_memory.h"
#include "tests/softnic/nic_client.h"

namespace gdakit::softnic::test {
namespace {

// As a NIC reads it from a WQE.
AddressVector read(const format::AvSegment& av) {
  AddressVector address;
  address.qpn = av.dqp_dct & 0xffffff;
  address.dc_key = format::dc_key(av);
  std::memcpy(address.gid.data(), av.rgid, address.gid.size());
  return address;
}

TEST(JobAddresses, FindTheNicOfATargetsAddress) {
  JobAddresses addresses(300);
  const AddressVector address = read(address_of_target({0x123456789, 258, 77}));
  EXPECT_EQ(addresses.endpoint_of(address), 258u);
  EXPECT_EQ(address.qpn, 77u);
  EXPECT_EQ(address.dc_key, 0x123456789u);
  EXPECT_EQ(addresses.address_of(258).gid, address.gid);
}

TEST(JobAddresses, KnowNobodyElse) {
  JobAddresses addresses(4);
  EXPECT_EQ(addresses.endpoint_of(read(address_of_target({1, 3, 77}))), 3u);
  EXPECT_EQ(addresses.endpoint_of(read(address_of_target({1, 4, 77}))), std::nullopt);
  AddressVector other = read(address_of_target({1, 3, 77}));
  other.gid[0] = 0xfe;
  EXPECT_EQ(addresses.endpoint_of(other), std::nullopt);
}

TEST(JobTarget, IsATargetOfItsNic) {
  const auto fabric = LoopbackFabric::create({});
  Client client(*fabric);
  HostMemoryProvider memory;
  const auto one = JobTarget::create(*client.nic, client.pd, memory);
  const auto other = JobTarget::create(*client.nic, client.pd, memory);
  ASSERT_TRUE(one && other);
  EXPECT_EQ((*one)->card().endpoint, client.nic->endpoint());
  EXPECT_NE((*one)->card().dct, (*other)->card().dct);
  EXPECT_NE((*one)->card().access_key, (*other)->card().access_key);
}

TEST(DoorbellRegisters, AreAPageOfItsOwnAndANewOneForAQueueWithoutARecord) {
  const auto fabric = LoopbackFabric::create({});
  Client client(*fabric);
  DoorbellRegisters registers;
  const auto first = registers.take(*client.nic, true);
  const auto second = registers.take(*client.nic, true);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->uar, second->uar);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first->word) % format::kUarPageBytes,
            format::kUarNoRecordDoorbell);
  *first->word = 5;
  registers.give_back(*client.nic, *first);
  const auto again = registers.take(*client.nic, true);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again->word, 0u);
}

TEST(DoorbellRegisters, OfOtherQueuesShareAPage) {
  const auto fabric = LoopbackFabric::create({});
  Client client(*fabric);
  DoorbellRegisters registers;
  const auto first = registers.take(*client.nic, false);
  const auto second = registers.take(*client.nic, false);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->uar, second->uar);
  EXPECT_NE(first->word, second->word);
}

}  // namespace
}  // namespace gdakit::softnic::test
