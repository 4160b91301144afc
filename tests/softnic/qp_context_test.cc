// What the fields of a queue pair's context come to.
#include "backends/softnic/firmware/qp_context.h"

#include <gtest/gtest.h>

#include "core/format/prm/mailbox.h"

namespace gdakit::softnic::test {
namespace {

using format::prm::Ads;
using format::prm::Mailbox;
using format::prm::Qpc;

QpModify modify_of(const Mailbox<Qpc>& context) {
  QpModify modify;
  read_qpc(QpcView(context.bytes()), modify);
  return modify;
}

TEST(QpContext, SaysThePathsClassInTheWordsOfEitherLink) {
  Mailbox<Qpc> infiniband;
  infiniband.at(Qpc::primary_address_path).set(Ads::tclass, 0x6a);
  infiniband.at(Qpc::primary_address_path).set(Ads::sl, 5);
  EXPECT_EQ(modify_of(infiniband).path.traffic_class, 0x6a);
  EXPECT_EQ(modify_of(infiniband).path.service_level, 5);
  Mailbox<Qpc> ethernet;
  ethernet.at(Qpc::primary_address_path).set(Ads::dscp, 0x6a >> 2);
  ethernet.at(Qpc::primary_address_path).set(Ads::eth_prio, 5);
  EXPECT_EQ(modify_of(ethernet).path.traffic_class, 0x68);
  EXPECT_EQ(modify_of(ethernet).path.service_level, 5);
  ethernet.at(Qpc::primary_address_path).set(Ads::tclass, 0x6a);
  EXPECT_EQ(modify_of(ethernet).path.traffic_class, 0x6a) << "a kernel says both";
}

}  // namespace
}  // namespace gdakit::softnic::test
