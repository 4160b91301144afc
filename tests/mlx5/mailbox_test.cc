// What is sent to the firmware for each kind of queue, field by field, beside what other clients
// send (mailbox_table.h). To add a kind: a function that makes one on a played host, a row of
// kKinds, and rows of the tables.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/hex.h"
#include "tests/mlx5/fixture.h"
#include "tests/mlx5/mailbox_table.h"

namespace gdakit::mlx5 {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Numbers of a peer that no other number of a case has.
ConnectionCard some_peer() {
  ConnectionCard peer;
  peer.qpn = 0x1234;
  peer.first_psn = 0x56789a;
  peer.address.mtu = IBV_MTU_512;
  peer.address.log_reads = 3;
  peer.address.lid = 9;
  peer.address.gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  return peer;
}

class Mailboxes : public PlayedQueuePair {
 public:
  Mailboxes() {
    options_.counter_set = 3;
    nic_options_ = {.service_level = 5, .traffic_class = 106};
    uar_.page_id = 0x41;
  }

  // Sent by a pair of RC that is made and connected.
  Case rc(const char* name, bool receives, const ConnectionCard& peer) {
    options_.memory = block_.memory(receives);
    options_.memory.recordless = played().recordless;
    options_.first_psn = 0xabcdef;
    const auto made = make(peer);
    EXPECT_TRUE(made) << made.error().message();
    Case sent{name, named(played().commands)};
    sent.numbers = numbers(receives, peer);
    return sent;
  }

  // Sent by a target of DC and an initiator.
  Case dc(const char* name) {
    const auto nic = open();
    EXPECT_TRUE(nic);
    QueueUmems umems(**nic, host_);
    const auto shared = DcReceives::make(**nic, uar_.page_id);
    EXPECT_TRUE(shared);
    options_.memory = block_.memory(/*receives=*/false);
    options_.memory.recordless = played().recordless;
    options_.initiator = {.receives = shared->get(), .mtu = IBV_MTU_512, .log_reads = 3};
    const auto pair = QueuePair::create(**nic, umems, options_);
    EXPECT_TRUE(pair) << pair.error().message();
    const auto target = DcTarget::create(
        **nic, **shared, {.key = 0x0123456789abcdef, .mtu = IBV_MTU_512, .counter_set = 3});
    EXPECT_TRUE(target) << target.error().message();
    Case sent{name, named(played().commands)};
    sent.numbers = dc_numbers();
    return sent;
  }

  Case infiniband() {
    put_on_infiniband();
    return rc("rc_infiniband", false, some_peer());
  }
  Case infiniband_grh() {
    put_on_infiniband();
    played().gids.insert(played().gids.begin(), gid_of(~0u, 0, 0));
    played().ports[0].flags = IBV_QPF_GRH_REQUIRED;
    return rc("rc_infiniband_grh", false, some_peer());
  }
  Case roce_v2() {
    played().gids.insert(played().gids.begin(), gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1));
    return rc("rc_roce_v2", false, some_peer());
  }
  Case lag() {
    played().gids.insert(played().gids.begin(), gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1));
    played().lag_ports = 2;
    played().lag_port_in_rtr = true;
    return rc("rc_roce_v2_lag", false, some_peer());
  }
  Case recordless() {
    played().gids.insert(played().gids.begin(), gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1));
    played().recordless = true;
    return rc("rc_roce_v2_recordless", false, some_peer());
  }
  Case channel() {
    played().gids.insert(played().gids.begin(), gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1));
    return rc("rc_channel", true, some_peer());
  }
  Case dc_infiniband() {
    put_on_infiniband();
    return dc("dc_infiniband");
  }
  Case dc_roce_v2() {
    played().gids.insert(played().gids.begin(), gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1));
    return dc("dc_roce_v2");
  }
  Case dc_lag() {
    played().gids.insert(played().gids.begin(), gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1));
    played().lag_ports = 2;
    played().lag_port_in_rtr = true;
    return dc("dc_roce_v2_lag");
  }
  Case dc_recordless() {
    played().gids.insert(played().gids.begin(), gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1));
    played().recordless = true;
    return dc("dc_roce_v2_recordless");
  }

 private:
  // What tables may name.
  static std::map<std::string, std::string> numbers(bool receives, const ConnectionCard& peer) {
    const std::uint64_t begin = receives ? 0 : QueueBlock::kSlots;
    const std::uint32_t first_object = Played().next_object;
    std::map<std::string, std::string> texts = texts_of({
        {"umem", Played().next_umem},
        {"cq_record_umem", Played().next_umem},
        {"record_offset", QueueBlock::kRecord - begin},
        {"cq_record_offset", QueueBlock::kRecord - begin + 8},
        {"receive_cq_record_offset", QueueBlock::kRecord - begin + 16},
        {"log_receive_depth", 2},
        {"log_receive_stride", 2},
        {"send_cqn", first_object},
        {"receive_cqn", first_object + 1},
        {"qpn", first_object + (receives ? 2 : 1)},
        {"psn", 0xabcdef},
        {"peer_qpn", peer.qpn},
        {"peer_psn", peer.first_psn},
        {"peer_lid", peer.address.lid},
        {"peer_mac_high", 0x0211},
        {"peer_mac_low", 0x22334455},
    });
    texts["peer_gid"] = hex_digits(peer.address.gid);
    return texts;
  }
  static std::map<std::string, std::string> dc_numbers() {
    const std::uint32_t first_object = Played().next_object;
    return texts_of({{"receives_umem", Played().next_umem},
                     {"umem", Played().next_umem + 1},
                     {"cq_record_umem", Played().next_umem + 1},
                     {"receives_offset", 0},
                     {"record_offset", QueueBlock::kRecord - QueueBlock::kSlots},
                     {"cq_record_offset", QueueBlock::kRecord - QueueBlock::kSlots + 8},
                     {"receive_cqn", first_object},
                     {"srqn", first_object + 1},
                     {"send_cqn", first_object + 2},
                     {"qpn", first_object + 3}});
  }
  // With those that are the same for all.
  static std::map<std::string, std::string> texts_of(std::map<std::string, std::uint64_t> numbers) {
    numbers.insert({{"port", 1},
                    {"gid_index", 1},
                    {"port_mtu", IBV_MTU_1024},
                    {"log_max_rd_atomic", 4},
                    {"eqn", Played().eqn},
                    {"pd", Played().pd},
                    {"uar_page", 0x41},
                    {"log_depth", 6}});
    std::map<std::string, std::string> texts;
    for (const auto& [name, number] : numbers) texts[name] = std::to_string(number);
    return texts;
  }
};

const MailboxTable kRc{{"nvshmem", "doca"},
                       format::read_csv("tests/data/mlx5_clients.csv"),
                       format::read_csv("tests/data/mlx5_mailboxes.csv")};
const MailboxTable kDc{{"nvshmem", "ucx", "doca"},
                       format::read_csv("tests/data/mlx5_dc_clients.csv"),
                       format::read_csv("tests/data/mlx5_dc_mailboxes.csv")};

struct Kind {
  const char* name;
  Case (Mailboxes::*play)();
  const MailboxTable* table;
};
constexpr Kind kKinds[] = {
    {"rc_infiniband", &Mailboxes::infiniband, &kRc},
    {"rc_infiniband_grh", &Mailboxes::infiniband_grh, &kRc},
    {"rc_roce_v2", &Mailboxes::roce_v2, &kRc},
    {"rc_roce_v2_lag", &Mailboxes::lag, &kRc},
    {"rc_roce_v2_recordless", &Mailboxes::recordless, &kRc},
    {"rc_channel", &Mailboxes::channel, &kRc},
    {"dc_infiniband", &Mailboxes::dc_infiniband, &kDc},
    {"dc_roce_v2", &Mailboxes::dc_roce_v2, &kDc},
    {"dc_roce_v2_lag", &Mailboxes::dc_lag, &kDc},
    {"dc_roce_v2_recordless", &Mailboxes::dc_recordless, &kDc},
};

class GoldenMailboxes : public Mailboxes, public testing::WithParamInterface<Kind> {};
INSTANTIATE_TEST_SUITE_P(All, GoldenMailboxes, testing::ValuesIn(kKinds),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(GoldenMailboxes, DifferFromOtherClientsAsTheTableSays) {
  const Case sent = (this->*GetParam().play)();
  const MailboxTable& table = *GetParam().table;
  ASSERT_FALSE(table.clients.empty());
  ASSERT_FALSE(table.differences.empty());
  EXPECT_EQ(sent.name, GetParam().name);
  for (const std::string& wrong : compare(sent, table)) ADD_FAILURE() << wrong;
}

using GoldenMailboxTables = Mailboxes;

TEST_F(GoldenMailboxTables, NameCasesAndCommandsThatThereAre) {
  for (const MailboxTable* const table : {&kRc, &kDc}) {
    std::vector<Case> cases;
    for (const Kind& kind : kKinds) {
      if (kind.table != table) continue;
      played() = {};
      put_on_ethernet();
      options_.initiator.reset();
      cases.push_back((this->*kind.play)());
    }
    for (const auto* const rows : {&table->clients, &table->differences}) {
      for (const format::CsvRow& row : *rows) {
        ASSERT_FALSE(row.contains("malformed")) << row.at("malformed");
        const auto has_it = [&row](const Case& one) {
          return matches(row.at("case"), one.name) && one.find(row.at("command")) != nullptr;
        };
        EXPECT_TRUE(std::ranges::any_of(cases, has_it))
            << row.at("case") << ", " << row.at("command");
      }
    }
  }
}

// The comparison finds what it is there to find.
class MailboxComparison : public testing::Test {
 protected:
  MailboxComparison() {
    sent_.bytes.resize(272);
    sent_.bytes[0] = 5;  // an opcode of 0x503
    sent_.bytes[1] = 3;
  }
  using Rows = std::vector<format::CsvRow>;
  static format::CsvRow client(const char* field, const char* nvshmem, const char* doca) {
    return {{"case", "rc_*"},
            {"command", "INIT2RTR"},
            {"field", field},
            {"nvshmem", nvshmem},
            {"doca", doca}};
  }
  static format::CsvRow difference(format::CsvRow row, const char* ours) {
    row["ours"] = ours;
    row["reason"] = "there is one";
    return row;
  }
  std::string wrong(const Rows& clients, const Rows& differences) const {
    std::string all;
    const Case played{"rc_any", {sent_}, {{"nine", "9"}}};
    for (const std::string& one : compare(played, {{"nvshmem", "doca"}, clients, differences}))
      all += one + '\n';
    return all;
  }

  Command sent_{"INIT2RTR", "init2rtr_qp_in", {}};
  const format::CsvRow opcode_ = client("opcode", "0x503", "0x503");
};

TEST_F(MailboxComparison, TakesWhatIsTheSameAndWhatHasARow) {
  EXPECT_EQ(wrong({opcode_}, {}), "");
  sent_.bytes[11] = 9;
  EXPECT_EQ(wrong({opcode_, client("qpn", "nine", "none")}, {}), "");
  const auto other = client("qpn", "8", "option any");
  EXPECT_EQ(wrong({opcode_, other}, {difference(other, "9")}), "");
}

TEST_F(MailboxComparison, FindsDifferencesWithoutARow) {
  EXPECT_THAT(wrong({opcode_, client("qpn", "8", "")}, {}), HasSubstr("qpn: differs and has no"));
  EXPECT_THAT(wrong({opcode_, client("qpn", "", "option any")}, {}), HasSubstr("has no row: 0,,"));
  EXPECT_THAT(wrong({opcode_, client("qpn", "object any", "")}, {}), HasSubstr("has no row"));
}

TEST_F(MailboxComparison, FindsRowsThatAreNotSo) {
  EXPECT_THAT(wrong({opcode_}, {difference(opcode_, "1283")}), HasSubstr("and is the same"));
  const auto other = client("qpn", "8", "");
  EXPECT_THAT(wrong({opcode_, other}, {difference(other, "7")}), HasSubstr("other values"));
  EXPECT_THAT(wrong({opcode_}, {difference(other, "0")}), HasSubstr("no client's row"));
  EXPECT_THAT(wrong({opcode_, opcode_}, {}), IsEmpty());
}

TEST_F(MailboxComparison, FindsBitsThatNoRowNamesAndNamesThatNothingHas) {
  sent_.bytes[271] = 1;
  EXPECT_THAT(wrong({opcode_}, {}), HasSubstr("bit 2175 is set"));
  EXPECT_THAT(wrong({opcode_, client("qpx", "", "")}, {}), HasSubstr("no such field"));
  EXPECT_THAT(wrong({opcode_, client("qpn", "ten", "")}, {}), HasSubstr("no number \"ten\""));
}

}  // namespace
}  // namespace gdakit::mlx5
