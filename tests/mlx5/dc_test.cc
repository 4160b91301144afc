// DC on a played host: which NICs have it, what initiators and targets are made by, what is said of
// a peer's target, and what each call that fails leaves behind.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/agreement.h"
#include "core/base/hex.h"
#include "core/format/prm/dct.h"
#include "core/format/prm/qp.h"
#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Dc : public PlayedProvider {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    backend_ = nullptr;
    Options options;
    options.service_level = 5;
    options.traffic_class = 106;
    options.queue_type = QueueType::dc;
    options.pkey_index = pkey_index_;
    auto opened = open(options, host_);
    ASSERT_TRUE(opened) << opened.error().message();
    backend_ = std::move(*opened);
  }

  Result<QueueResources> create(std::size_t block = 0, bool receives = false) {
    QueueMemory memory = blocks_[block].memory(receives);
    memory.type = QueueType::dc;
    return backend_->create_queue(memory);
  }
  DcCard card() {
    DcCard card;
    const Result<Bytes> bytes = backend_->dc_target();
    EXPECT_TRUE(bytes) << bytes.error().message();
    EXPECT_EQ(bytes->size(), sizeof card);
    std::memcpy(static_cast<void*>(&card), bytes->data(), sizeof card);
    return card;
  }
  // Of a peer's target.
  Result<format::AvSegment> address(const DcCard& card) {
    return backend_->dc_address(bytes_of(card));
  }
  // Objects but for that of the counters.
  static int objects() { return played().live["object"] - 1; }
  static std::vector<std::string> commands() {
    std::vector<std::string> opcodes;
    for (const auto& sent : played().commands) {
      if (sent[0] == 0x05 || sent[0] == 0x04 || sent[0] == 0x09 || sent[0] == 0x07) {
        opcodes.push_back(hex_digits(std::span(sent).first(2)));
      }
    }
    return opcodes;
  }
  template <class Layout>
  static prm::View<Layout> sent(const char* opcode) {
    return prm::View<Layout>(std::span<const std::uint8_t>(played().sent.at(opcode)));
  }

  std::vector<QueueBlock> blocks_ = std::vector<QueueBlock>(4);
  std::unique_ptr<Backend> backend_;
  std::uint32_t pkey_index_ = 0;
};

TEST_F(Dc, AnInitiatorIsReadyToPostAndHasNoPeer) {
  EXPECT_TRUE(backend_->limits().has_dc);
  played().commands.clear();
  const auto queue = create();
  ASSERT_TRUE(queue);
  EXPECT_THAT(queue->card, IsEmpty());
  EXPECT_NE(queue->doorbell, nullptr);
  EXPECT_THAT(commands(), ElementsAre("0400", "090c", "0400", "0500", "0502", "0503", "0504"));
  EXPECT_THAT(refusal_of(backend_->connect_queue(queue->number, queue->card)),
              HasSubstr("an initiator of DC, which has no peer"));
  played().commands.clear();
  ASSERT_TRUE(create(1));
  EXPECT_THAT(commands(), ElementsAre("0400", "0500", "0502", "0503", "0504"))
      << "all share one receive queue";
  EXPECT_TRUE(backend_->destroy_queue(queue->number));
}

TEST_F(Dc, AnInitiatorHasNoReceives) {
  EXPECT_THAT(refusal_of(create(0, /*receives=*/true)), HasSubstr("receive nothing"));
  EXPECT_EQ(objects(), 0);
}

TEST_F(Dc, OfAPeThereIsOneTargetOfARandomKey) {
  const DcCard first = card();
  EXPECT_EQ(card().dctn, first.dctn);
  EXPECT_EQ(card().key, first.key);
  EXPECT_EQ(std::ranges::count(commands(), "0710"), 1);
  const auto context = sent<prm::CreateDctIn>("0710").at(prm::CreateDctIn::dct_context_entry);
  EXPECT_EQ(context.get(prm::Dctc::dc_access_key), first.key);
  EXPECT_EQ(context.get(prm::Dctc::mtu), first.address.mtu);
  reopen();
  EXPECT_NE(card().key, first.key);
}

TEST_F(Dc, TargetsAndInitiatorsAreInThePartition) {
  played().ports[0].pkey_tbl_len = 8;
  pkey_index_ = 6;
  reopen();
  ASSERT_TRUE(create());
  EXPECT_NE(card().dctn, 0u);
  const auto target = sent<prm::CreateDctIn>("0710").at(prm::CreateDctIn::dct_context_entry);
  EXPECT_EQ(target.get(prm::Dctc::pkey_index), 6u);
  const auto initiator = sent<prm::Rst2initQpIn>("0502").at(prm::Rst2initQpIn::qpc);
  EXPECT_EQ(initiator.at(prm::Qpc::primary_address_path).get(prm::Ads::pkey_index), 6u);
}

TEST_F(Dc, TargetsAndInitiatorsGoOutByTheBondedPortsInTurn) {
  played().lag_ports = 3;
  reopen();
  ASSERT_TRUE(create(0));
  EXPECT_NE(card().dctn, 0u);
  ASSERT_TRUE(create(1));
  const auto context = sent<prm::CreateDctIn>("0710").at(prm::CreateDctIn::dct_context_entry);
  EXPECT_EQ(context.get(prm::Dctc::port), 2u);
  const auto initiator = sent<prm::Rst2initQpIn>("0502").at(prm::Rst2initQpIn::qpc);
  EXPECT_EQ(initiator.get(prm::Qpc::lag_tx_port_affinity), 3u);
  EXPECT_EQ(initiator.at(prm::Qpc::primary_address_path).get(prm::Ads::vhca_port_num), 1u);
}

// The firmware refuses to destroy what another object names.
TEST_F(Dc, EndsInTheOrderOfUse) {
  card();
  ASSERT_TRUE(create());
  played().gone.clear();
  backend_ = nullptr;
  EXPECT_THAT(played().gone, ElementsAre("0500", "0400", "0710", "090c", "0400", "0771"));
}

class NicWithoutDc : public Dc {
 protected:
  void expect_refused(const char* why) {
    reopen();
    EXPECT_FALSE(backend_->limits().has_dc);
    const auto says =
        AllOf(HasSubstr("rocep1s0"), HasSubstr(why), HasSubstr("GDAKIT_QUEUE_TYPE=rc"));
    EXPECT_THAT(refusal_of(create()), says);
    EXPECT_THAT(refusal_of(backend_->dc_target()), says);
    EXPECT_THAT(refusal_of(address({})), says);
    EXPECT_EQ(create().error().code(), Code::unavailable);
    EXPECT_EQ(objects(), 0);
    QueueBlock block;
    EXPECT_TRUE(backend_->create_queue(block.memory())) << "it has RC";
  }
};

TEST_F(NicWithoutDc, SaysSoByItsCapabilities) {
  played().has_dc = false;
  expect_refused("no targets of DC (dct of QUERY_HCA_CAP is 0)");
}
TEST_F(NicWithoutDc, HasNoAtomicsOfItsTwoSizes) {
  for (const std::uint16_t bytes : {0, 4, 8}) {
    played().dc_atomic_bytes = bytes;
    expect_refused("lacks atomic operations of DC of 4 and 8 bytes");
  }
}

TEST_F(Dc, AnInitiatorHasNoMoreReadsThanTheNicAllows) {
  const auto reads = [this](std::uint8_t log_reads) {
    played().log_dc_reads = log_reads;
    reopen();
    EXPECT_TRUE(create());
    return sent<prm::Rtr2rtsQpIn>("0504").at(prm::Rtr2rtsQpIn::qpc).get(prm::Qpc::log_sra_max);
  };
  EXPECT_EQ(reads(2), 2u);
  EXPECT_EQ(reads(6), 4u);
  EXPECT_EQ(reads(63), 4u);
}

TEST_F(Dc, OfAPeerOnEthernetItsMacPortAndClassAreSaid) {
  DcCard peer = card();
  peer.dctn = 0x4321;
  peer.key = 0x0123456789abcdef;
  peer.address.gid[15] = 9;
  const auto av = address(peer);
  ASSERT_TRUE(av) << av.error().message();
  EXPECT_EQ(format::dc_key(*av), 0x0123456789abcdefu);
  EXPECT_EQ(av->dqp_dct, format::kExtendedAv | 0x4321u);
  EXPECT_EQ(std::memcmp(av->rmac, played().peer_mac.data(), 6), 0);
  EXPECT_GE(av->rlid, 0xc000u);
  EXPECT_EQ(av->stat_rate_sl, 5 << 1);
  EXPECT_EQ(av->tclass, 106);
  EXPECT_EQ(av->hop_limit, 64);
  EXPECT_EQ(av->grh_gid_fl, 0u) << "index 0, and no bit of InfiniBand's";
  EXPECT_EQ(std::memcmp(av->rgid, peer.address.gid.data(), 16), 0);
  peer.dctn = 0x4322;
  EXPECT_NE(address(peer)->rlid, av->rlid) << "networks spread them";
}

TEST_F(Dc, APeerIsReachedByAnotherSourcePortByEachRowOfInitiators) {
  const DcCard peer = card();
  const auto first = address(peer);
  ASSERT_TRUE(first);
  played().errors = {{"ibv_create_ah", ENOMEM}};  // the way is known
  std::set<std::uint16_t> ports = {first->rlid};
  for (int more = 0; more < 100; ++more) {
    auto other = address(peer);
    ASSERT_TRUE(other) << other.error().message();
    EXPECT_GE(other->rlid, 0xc000u);
    ports.insert(other->rlid);
    other->rlid = first->rlid;
    EXPECT_EQ(std::memcmp(&*other, &*first, sizeof *first), 0) << "nothing else differs";
  }
  EXPECT_EQ(ports.size(), 101u);
}

TEST_F(Dc, OfRoceV1ThereIsNoSourcePort) {
  played().gids[0].gid_type = IBV_GID_TYPE_ROCE_V1;
  reopen();
  const DcCard peer = card();
  EXPECT_EQ(address(peer)->rlid, 0u);
  EXPECT_EQ(address(peer)->rlid, 0u);
}

class DcAddresses : public Dc {
 protected:
  // The GID's place in a table of four.
  void move_to(std::size_t place) {
    played().gids.assign(4, gid_of(~0u, 0, 0));
    played().gids[place] = gid_;
  }
  const ibv_gid_entry gid_ = played().gids[0];
};

TEST_F(DcAddresses, AreLookedForAgainForEachPeer) {
  const DcCard peer = card();
  move_to(0);
  reopen();
  move_to(3);
  const auto av = address(peer);
  ASSERT_TRUE(av);
  EXPECT_EQ(av->grh_gid_fl, 3u << 20);
  played().gids.clear();
  EXPECT_THAT(refusal_of(address(peer)), HasSubstr("has lost its GID"));
}

// Nothing can be changed of it, and peers have its card.
TEST_F(DcAddresses, ThatMoveAreToldOfWhereThereIsATargetAlready) {
  move_to(0);
  reopen();
  const DcCard peer = card();
  move_to(3);
  const auto says = AllOf(HasSubstr("has moved from index 0 to 3 since the PE's target of DC was"),
                          HasSubstr("port 1 of rocep1s0"), HasSubstr("GDAKIT_QUEUE_TYPE=rc"));
  EXPECT_THAT(refusal_of(address(peer)), AllOf(HasSubstr("dc_address"), says));
  EXPECT_THAT(refusal_of(backend_->dc_target()), AllOf(HasSubstr("dc_target"), says));
  EXPECT_THAT(refusal_of(create()), AllOf(HasSubstr("create_queue"), says));
  move_to(0);
  EXPECT_EQ(card().dctn, peer.dctn) << "it is where it was";
  EXPECT_TRUE(address(peer));
  EXPECT_TRUE(create());
}

TEST_F(Dc, OfAPeerOnInfiniBandItsLidIsSaidAndTheRoutingHeaderWhereOneIsNeeded) {
  put_on_infiniband();
  reopen();
  DcCard peer = card();
  peer.address.lid = 0x1234;
  const auto near = address(peer);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->rlid, 0x1234u);
  EXPECT_EQ(near->stat_rate_sl, 5);
  EXPECT_EQ(near->grh_gid_fl, 0u);
  EXPECT_EQ(near->hop_limit, 0);
  EXPECT_EQ(near->rgid[0], 0);
  EXPECT_EQ(near->dqp_dct & format::kExtendedAv, format::kExtendedAv);
  peer.address.gid[2] = 7;  // of another subnet
  const auto far = address(peer);
  ASSERT_TRUE(far);
  EXPECT_EQ(far->rlid, 0x1234u);
  EXPECT_EQ(far->grh_gid_fl, 1u << 30);
  EXPECT_EQ(far->hop_limit, 64);
  EXPECT_EQ(far->tclass, 106);
  EXPECT_EQ(std::memcmp(far->rgid, peer.address.gid.data(), 16), 0);
}

TEST_F(Dc, CardsThatNoTargetOfThisVersionMadeAreRefused) {
  for (const std::size_t size : {0, 36, 39, 41}) {
    EXPECT_THAT(refusal_of(backend_->dc_address(Bytes(size))), HasSubstr("a connection card of "));
  }
  const DcCard good = card();
  const auto refused = [&](auto change) {
    DcCard changed = good;
    change(changed);
    return refusal_of(address(changed));
  };
  EXPECT_THAT(refused([](DcCard& card) { ++card.version; }), HasSubstr("another version"));
  EXPECT_THAT(refused([](DcCard& card) { card.dctn = 1 << 24; }), HasSubstr("out of range"));
  EXPECT_THAT(refused([](DcCard& card) { card.address.mtu = 6; }), HasSubstr("limits out of"));
  EXPECT_THAT(refused([](DcCard& card) { card.address.link_layer = IBV_LINK_LAYER_INFINIBAND; }),
              HasSubstr("one is on InfiniBand and the other on Ethernet"));
  EXPECT_THAT(refused([](DcCard& card) { card.address.mtu = IBV_MTU_4096; }),
              AllOf(HasSubstr("1024 bytes"), HasSubstr("4096"), HasSubstr("GDAKIT_QUEUE_TYPE=dc")));
}

TEST(DcAgreement, IsOnTheLeastMtuOfAllPes) {
  constexpr std::uint8_t kMtus[] = {IBV_MTU_4096, IBV_MTU_1024, IBV_MTU_2048};
  const auto bootstraps = make_local_bootstraps(std::size(kMtus), std::chrono::seconds(60));
  std::vector<std::thread> pes;
  for (std::size_t pe = 0; pe < std::size(kMtus); ++pe) {
    pes.emplace_back([&, pe] {
      const auto agreed = agree_on_mtu(*bootstraps->at(pe), kMtus[pe]);
      ASSERT_TRUE(agreed);
      EXPECT_EQ(*agreed, IBV_MTU_1024);
    });
  }
  for (std::thread& pe : pes) pe.join();
}

// Each call that making a target and an initiator takes, and what its error names.
struct Failure {
  const char* call;
  const char* name;
};
class EachDcCall : public Dc, public testing::WithParamInterface<Failure> {};
INSTANTIATE_TEST_SUITE_P(
    All, EachDcCall,
    testing::Values(Failure{"mlx5dv_devx_umem_reg_ex 1", "umem_reg_ex"},
                    Failure{"mlx5dv_devx_umem_reg_ex 2", "umem_reg_ex"},
                    Failure{"0400", "CREATE_CQ"}, Failure{"090c", "CREATE_RMP"},
                    Failure{"0500", "CREATE_QP"}, Failure{"0502", "RST2INIT_QP"},
                    Failure{"0503", "INIT2RTR_QP"}, Failure{"0504", "RTR2RTS_QP"},
                    Failure{"0710", "CREATE_DCT"}));

TEST_P(EachDcCall, ThatFailsIsNamedAndLeavesNothing) {
  played().errors = {{GetParam().call, EREMOTEIO}};
  played().status = 0x08;
  played().syndrome = 0x19c6d6;
  const auto queue = create();
  const auto target = backend_->dc_target();
  ASSERT_FALSE(queue && target);
  for (const Error* const error :
       {queue ? nullptr : &queue.error(), target ? nullptr : &target.error()}) {
    if (error == nullptr) continue;
    EXPECT_THAT(error->message(), AllOf(HasSubstr(GetParam().name), HasSubstr("on rocep1s0")));
    const bool is_command = GetParam().call[0] == '0';
    EXPECT_THAT(error->message(),
                HasSubstr(is_command ? "0x8 (limits exceeded), syndrome 0x19c6d6" : ""));
  }
  played().errors.clear();
  const DcCard made = card();
  EXPECT_NE(made.dctn, 0u);
  const auto initiator = create();
  ASSERT_TRUE(initiator);
  // Target, shared receive queue and its CQ; and, made now or before, initiators with a CQ each.
  EXPECT_EQ(objects(), 3 + 2 * (queue ? 2 : 1));
  EXPECT_EQ(played().live["uar"], queue ? 2 : 1);
}

TEST_F(Dc, AWayThatIsNotThereIsToldWithBothGids) {
  const DcCard peer = card();
  played().errors = {{"ibv_create_ah", ENETUNREACH}};
  EXPECT_THAT(refusal_of(address(peer)),
              AllOf(HasSubstr("dc_address"), HasSubstr("ibv_create_ah"), HasSubstr("fe80::1")));
  EXPECT_EQ(played().live["handle"], 0);
}

}  // namespace
}  // namespace gdakit::mlx5
