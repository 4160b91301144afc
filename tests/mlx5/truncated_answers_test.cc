// What backend mlx5 makes of answers that end early. Which there are, by call: random_answers.h.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/firmware_answer.h"
#include "core/format/prm/command.h"
#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kMark = 4;  // so many bytes at an answer's end may be missing
constexpr std::uint8_t kError = 6;

TEST(AnswerToACommand, IsWholeOnceItsEndIsWritten) {
  std::array<std::uint8_t, 16> out{};
  EXPECT_EQ(wrong_with_answer(out), "");
  mark_end(out);
  EXPECT_EQ(wrong_with_answer(out), "fewer bytes than the 16 of its answer");
  out.back() = 0;
  EXPECT_EQ(wrong_with_answer(out), "");
}

TEST(AnswerToACommand, ThatSucceededHasNoOtherStatus) {
  std::array<std::uint8_t, 16> out{};
  out[0] = 3;
  EXPECT_THAT(wrong_with_answer(out), AllOf(HasSubstr("success; the firmware's status is 0x3"),
                                            HasSubstr("bad parameter")));
}

struct Command {
  const char* opcode;
  const char* name;
};
void PrintTo(const Command& command, std::ostream* to) { *to << command.name; }

class EachCommand : public PlayedBackend, public testing::WithParamInterface<Command> {
 protected:
  // All that is made on a NIC, but for what opening it takes.
  Result<void> make_all() {
    const auto queue = create();
    if (!queue) return queue.error();
    const auto connected = backend_->connect_queue(queue->number, queue->card);
    EXPECT_TRUE(backend_->destroy_queue(queue->number));
    if (!connected) return connected;
    const auto target = backend_->dc_target();
    return target ? Result<void>() : target.error();
  }
};
INSTANTIATE_TEST_SUITE_P(All, EachCommand,
                         testing::Values(Command{"0400", "CREATE_CQ"}, Command{"0500", "CREATE_QP"},
                                         Command{"0502", "RST2INIT_QP"},
                                         Command{"0503", "INIT2RTR_QP"},
                                         Command{"0504", "RTR2RTS_QP"},
                                         Command{"090c", "CREATE_RMP"},
                                         Command{"0710", "CREATE_DCT"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(EachCommand, ThatIsAnsweredInPartHasFailed) {
  for (std::size_t bytes = 0; bytes <= format::prm::MboxOut::kBytes - kMark; ++bytes) {
    played().arrives = {{GetParam().opcode, bytes}};
    EXPECT_THAT(refusal_of(make_all()),
                HasSubstr(std::string(GetParam().name) + " on rocep1s0 answered fewer bytes"))
        << bytes;
    // That of the counters, and the two that targets share.
    EXPECT_EQ(played().live["object"], GetParam().name == std::string("CREATE_DCT") ? 3 : 1);
  }
  played().arrives.clear();
  EXPECT_TRUE(make_all());
}

class TruncatedAnswers : public PlayedBackend {
 protected:
  void SetUp() override { ASSERT_NE(backend_, nullptr); }
};

TEST_F(TruncatedAnswers, AboutAQueueAreToldInItsPlace) {
  const auto queue = create();
  ASSERT_TRUE(queue);
  for (const std::size_t bytes : {0, 16, 268}) {
    played().arrives = {{"050b", bytes}};
    EXPECT_THAT(backend_->describe_queue(queue->number),
                HasSubstr("QUERY_QP on rocep1s0 answered fewer bytes"));
  }
}

// What is counted is what was told last.
TEST_F(TruncatedAnswers, OfCountersCountNothing) {
  played().counted = {{"out_of_sequence", 5}};
  EXPECT_EQ(backend_->counters().out_of_sequence, 5u);
  played().counted = {{"out_of_sequence", 9}};
  for (const std::size_t bytes : {0, 100, 252}) {
    played().arrives = {{"0773", bytes}};
    EXPECT_EQ(backend_->counters().out_of_sequence, 5u);
  }
  played().arrives.clear();
  EXPECT_EQ(backend_->counters().out_of_sequence, 9u);
}

// Numbers that queue pairs of programs do not have.
TEST_F(TruncatedAnswers, WithoutAQueuePairsNumberAreErrors) {
  constexpr std::uint32_t kLast = 0xffffff;
  played().next_object = kLast - 1;  // of the first of its two CQs
  EXPECT_THAT(refusal_of(create()), HasSubstr("CREATE_QP on rocep1s0 answered 0x0"));
  played().next_object = kLast - 1;  // of the receives' CQ, and that of the receives
  EXPECT_THAT(refusal_of(backend_->dc_target()), HasSubstr("CREATE_DCT on rocep1s0 answered 0x0"));
}

TEST_F(TruncatedAnswers, AboutTheWayToAPeerAreErrors) {
  const auto queue = create();
  ASSERT_TRUE(queue);
  const auto connect = [&] {
    return refusal_of(backend_->connect_queue(queue->number, queue->card));
  };
  played().arrives = {{"mlx5dv_init_obj of AH", 0}};
  EXPECT_THAT(connect(), HasSubstr("mlx5dv_init_obj of the address handle on rocep1s0 answered no "
                                   "address"));
  played().arrives.clear();
  played().peer_mac = {};
  EXPECT_THAT(connect(), HasSubstr("mlx5dv_init_obj of the address handle on rocep1s0 answered a "
                                   "MAC address of zeros"));
}

// The channel is out of step then, and what it has lost nobody knows.
TEST_F(TruncatedAnswers, OfEventsHaveFirmwareAsked) {
  for (const std::size_t bytes : {0, 1, 7}) {
    const auto opened = open();
    ASSERT_TRUE(opened);
    const auto queue = (*opened)->create_queue(blocks_[0].memory());
    ASSERT_TRUE(queue);
    std::memset(blocks_[0].cqe(), 0xff, 64);
    played().queue_state = kError;
    EXPECT_THAT((*opened)->broken_queues(), IsEmpty()) << "firmware is not asked";
    played().events = {played().cookies.at({queue->number, 0x11})};
    played().arrives = {{"mlx5dv_devx_get_event", bytes}};
    EXPECT_THAT((*opened)->broken_queues(), testing::SizeIs(1)) << bytes;
    played().arrives.clear();
    played().events.clear();
  }
}

TEST_F(TruncatedAnswers, OfEventsAreToldOnceInTheLog) {
  Options options;
  options.log = LogLevel::info;
  const auto said = [&](int error, std::size_t bytes) {
    testing::internal::CaptureStderr();
    const auto opened = open(options);
    EXPECT_TRUE(opened);
    if (error != 0) played().errors = {{"mlx5dv_devx_get_event", error}};
    if (bytes != 8) played().events = {17};
    played().arrives = {{"mlx5dv_devx_get_event", bytes}};
    for (int look = 0; look < 3; ++look) (*opened)->broken_queues();
    played().errors.clear();
    played().arrives.clear();
    played().events.clear();
    return testing::internal::GetCapturedStderr();
  };
  const std::string cut = said(0, 3);
  const std::string what = "mlx5dv_devx_get_event on rocep1s0 answered a record of 3 bytes";
  EXPECT_THAT(cut, HasSubstr(what));
  EXPECT_EQ(cut.find(what), cut.rfind(what));
  EXPECT_THAT(said(EIO, 8), HasSubstr("mlx5dv_devx_get_event on rocep1s0: "));
  EXPECT_THAT(said(EINTR, 8), testing::Not(HasSubstr("get_event")));
  EXPECT_THAT(said(EAGAIN, 8), testing::Not(HasSubstr("get_event")));
}

class TruncatedAtOpening : public PlayedProvider {
 protected:
  std::string refusal(std::map<std::string, std::size_t> arrives) {
    played().arrives = std::move(arrives);
    return refusal_of(PlayedProvider::open());
  }
};

TEST_F(TruncatedAtOpening, NumbersAreErrors) {
  EXPECT_THAT(refusal({{"mlx5dv_init_obj of PD", 0}}),
              HasSubstr("mlx5dv_init_obj of the protection domain on rocep1s0 answered"));
  EXPECT_THAT(refusal({{"mlx5dv_devx_query_eqn", 0}}),
              HasSubstr("mlx5dv_devx_query_eqn on rocep1s0 answered"));
}

TEST_F(TruncatedAtOpening, ListsOfDevicesAreErrors) {
  played().devices = 2;
  const auto is_named = HasSubstr("ibv_get_device_list answered a list that does not end behind ");
  for (const std::size_t devices : {0, 1}) {
    EXPECT_THAT(refusal({{"ibv_get_device_list", devices}}), is_named);
  }
  for (const int told : {-1, 0, 1, 3}) {
    played().devices_told = told;
    EXPECT_THAT(refusal({}), is_named) << told;
  }
  played().devices_told = 2;
  EXPECT_TRUE(PlayedProvider::open());
}

TEST_F(TruncatedAtOpening, ADeviceWithoutANameIsNotTaken) {
  EXPECT_THAT(refusal({{"ibv_get_device_name", 0}}),
              HasSubstr("ibv_get_device_name gives no name"));
}

TEST_F(TruncatedAtOpening, NamesWithoutAnEndEndWithTheirField) {
  played().arrives = {{"ibv_get_device_name", 1}};
  const std::string name(IBV_SYSFS_NAME_MAX, 'n');
  const auto nic = PlayedHost::open();
  ASSERT_TRUE(nic);
  EXPECT_EQ((*nic)->name(), name);
  played().errors = {{"mlx5dv_open_device", EIO}};
  EXPECT_THAT(refusal({{"ibv_get_device_name", 1}}),
              HasSubstr("on /dev/infiniband/" + name + ": "));
}

TEST_F(TruncatedAtOpening, TablesOfFunctionsAreErrors) {
  EXPECT_THAT(refusal({{"mlx5dv_open_device", 0}}), HasSubstr("ibv_query_port: "));
}

TEST_F(TruncatedAtOpening, AttributesOfADeviceAreErrors) {
  for (std::size_t bytes = 0; bytes <= offsetof(ibv_device_attr, phys_port_cnt); ++bytes) {
    EXPECT_THAT(refusal({{"ibv_query_device", bytes}}), HasSubstr("ibv_query_device")) << bytes;
  }
}

// Those that are asked for once it is open.
TEST_F(TruncatedAtOpening, AttributesOfADeviceThatIsTakenAreErrors) {
  static constexpr auto kCut = [](ibv_context* of, ibv_device_attr* to) {
    if (played().live["pd"] != 0) played().arrives = {{"ibv_query_device", 100}};
    return played_libraries().query_device(of, to);
  };
  Libraries libraries = libraries_;
  libraries.query_device = kCut;
  EXPECT_THAT(refusal_of(OpenNic::open(libraries, nic_options_)),
              HasSubstr("ibv_query_device on rocep1s0 answered 0 ports, where port 1"));
}

TEST_F(TruncatedAtOpening, AttributesOfAPortAreErrors) {
  for (std::size_t bytes = 0; bytes <= offsetof(ibv_port_attr, link_layer); ++bytes) {
    EXPECT_THAT(refusal({{"ibv_query_port", bytes}}), HasSubstr("as ibv_query_port has it"))
        << bytes;
  }
}

TEST_F(TruncatedAtOpening, GidsAreErrors) {
  for (std::size_t bytes = 0; bytes < offsetof(ibv_gid_entry, ndev_ifindex); ++bytes) {
    EXPECT_THAT(refusal({{"_ibv_query_gid_table", bytes}}),
                AnyOf(HasSubstr("ibv_query_gid_table"), HasSubstr("has no GID")))
        << bytes;
  }
  EXPECT_THAT(refusal({{"_ibv_query_gid_table", 0}}), HasSubstr("ibv_query_gid_table"));
}

// Not that the port has lost its GID, which nobody knows.
TEST_F(TruncatedAtOpening, GidsThatAreLookedForAgainAreErrors) {
  const auto nic = PlayedHost::open();
  ASSERT_TRUE(nic);
  played().arrives = {{"_ibv_query_gid_ex", 0}, {"_ibv_query_gid_table", 0}};
  EXPECT_THAT(refusal_of((*nic)->find_gid_again()), HasSubstr("ibv_query_gid_table on rocep1s0"));
}

TEST_F(TruncatedAtOpening, OtherGidsAreTaken) {
  ibv_gid_entry empty{};
  empty.gid_type = IBV_GID_TYPE_ROCE_V2;  // of zeros
  played().gids.insert(played().gids.begin(), empty);
  const auto nic = PlayedHost::open();
  ASSERT_TRUE(nic);
  EXPECT_EQ((*nic)->gid_index(), 1);
}

TEST_F(TruncatedAtOpening, DoorbellPagesAreErrors) {
  EXPECT_THAT(refusal({{"mlx5dv_devx_alloc_uar", 0}}),
              HasSubstr("mlx5dv_devx_alloc_uar on rocep1s0 answered a page"));
}

TEST_F(TruncatedAtOpening, PagesOfCapabilitiesAreErrorsOrOfNothing) {
  EXPECT_THAT(refusal({{"0100", 200}}),
              HasSubstr("QUERY_HCA_CAP of its atomics answered fewer bytes than the 4112"));
  played().lag_ports = 2;
  for (const std::size_t bytes : {0, 8, 12}) {
    played().arrives = {{"0842", bytes}};
    const auto nic = PlayedHost::open();
    ASSERT_TRUE(nic);
    EXPECT_EQ((*nic)->capabilities().lag_ports, 0u);
  }
}

TEST_F(TruncatedAtOpening, SetsOfCountersCountNothing) {
  for (const std::size_t bytes : {0, 11, 12}) {
    played().arrives = {{"0771", bytes}};
    const auto backend = PlayedProvider::open();
    ASSERT_TRUE(backend);
    EXPECT_EQ((*backend)->count().counts, Counts::nothing);
    EXPECT_EQ(played().live["object"], 0);
  }
  played().arrives.clear();
  played().next_object = 0;
  const auto backend = PlayedProvider::open();
  ASSERT_TRUE(backend);
  EXPECT_EQ((*backend)->count().counts, Counts::nothing);
}

TEST_F(TruncatedAtOpening, AChannelWithoutAFileHasFirmwareAsked) {
  played().arrives = {{"mlx5dv_devx_create_event_channel", 0}};
  const auto backend = PlayedProvider::open();
  ASSERT_TRUE(backend);
  QueueBlock block;
  std::memset(block.cqe(), 0xff, 64);
  ASSERT_TRUE((*backend)->create_queue(block.memory()));
  played().queue_state = kError;
  EXPECT_THAT((*backend)->broken_queues(), testing::SizeIs(1));
}

}  // namespace
}  // namespace gdakit::mlx5
