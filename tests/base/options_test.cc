#include "core/base/options.h"

#include <set>
#include <stdlib.h>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/option_table.h"

namespace gdakit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Variables = std::vector<std::pair<std::string, std::string>>;

const OptionRow& row_of(std::string_view name) {
  for (const OptionRow& row : option_table()) {
    if (name == row.name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return option_table().front();
}

Options parsed(const Variables& variables) {
  Result<ParsedOptions> result = parse_options(variables);
  EXPECT_TRUE(result) << result.error().message();
  return result ? result->options : Options{};
}

std::string error_of(const Variables& variables) {
  const Result<ParsedOptions> result = parse_options(variables);
  if (result) return "no error";
  EXPECT_EQ(result.error().code(), Code::invalid_argument);
  return result.error().message();
}

TEST(Options, DefaultsAreThoseOfTheTable) {
  const Options options = parsed({});
  EXPECT_EQ(row_of("GDAKIT_LOG").text(options), "warn");
  EXPECT_EQ(row_of("GDAKIT_BACKEND").text(options), "auto");
  EXPECT_EQ(row_of("GDAKIT_TIMEOUT").text(options), "60");
  EXPECT_EQ(row_of("GDAKIT_WATCHDOG").text(options), "30");
  EXPECT_EQ(row_of("GDAKIT_QUEUE_DEPTH").text(options), "1024");
  EXPECT_EQ(row_of("GDAKIT_QUEUES_PER_PEER").text(options), "2");
  EXPECT_EQ(row_of("GDAKIT_FETCH_SLOTS").text(options), "1024");
  EXPECT_EQ(row_of("GDAKIT_SYMMETRIC_SIZE").text(options), "64M");
  EXPECT_EQ(row_of("GDAKIT_HEAP_CHUNK").text(options), "64M");
  EXPECT_EQ(row_of("GDAKIT_HEAP_LIMIT").text(options), "16G");
  EXPECT_EQ(row_of("GDAKIT_CHECK_MEMORY").text(options), "off");
  EXPECT_EQ(row_of("GDAKIT_LAUNCHES").text(options), "side-by-side");
  EXPECT_EQ(row_of("GDAKIT_NIC_HANDLER").text(options), "auto");
  EXPECT_EQ(row_of("GDAKIT_EMULATOR_WORKERS").text(options), "1");
  EXPECT_EQ(row_of("GDAKIT_EMULATOR_STACK").text(options), "64K");
  EXPECT_EQ(row_of("GDAKIT_DEVICE").text(options), "auto");
  EXPECT_EQ(row_of("GDAKIT_GPUS").text(options), "");
  EXPECT_EQ(row_of("GDAKIT_DMA").text(options), "auto");
  EXPECT_EQ(row_of("GDAKIT_QUEUE_MEMORY").text(options), "auto");
  EXPECT_EQ(row_of("GDAKIT_PAYLOAD").text(options), "direct");
  EXPECT_EQ(row_of("GDAKIT_TRANSPORT").text(options), "auto");
  for (const char* unset :
       {"RANK", "SIZE", "ROOT", "SECRET", "LISTEN_FD", "EXIT_PIPE", "LOCAL_RANK"}) {
    EXPECT_EQ(row_of(std::string("GDAKIT_") + unset).text(options), "") << unset;
  }
}

TEST(Options, EveryRowIsCompleteAndNamedOnce) {
  std::set<std::string> names;
  for (const OptionRow& row : option_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(std::string_view(row.name).starts_with("GDAKIT_")) << row.name;
    EXPECT_TRUE(std::string_view(row.sentence).ends_with('.')) << row.name;
    EXPECT_FALSE(std::string_view(row.type).empty()) << row.name;
    EXPECT_FALSE(std::string_view(row.allowed).empty()) << row.name;
  }
  EXPECT_EQ(names.size(), 58u);
}

TEST(Options, EveryVariableSetsItsOwnValue) {
  const Options options = parsed({{"GDAKIT_LOG", "debug"},
                                  {"GDAKIT_BACKEND", "softnic"},
                                  {"GDAKIT_LAUNCHER", "torchrun"},
                                  {"GDAKIT_LOCAL_RANK", "5"},
                                  {"GDAKIT_RANK", "3"},
                                  {"GDAKIT_SIZE", "8"},
                                  {"GDAKIT_ROOT", "node7:5000"},
                                  {"GDAKIT_SECRET", "00112233445566778899aAbBcCdDeEfF"},
                                  {"GDAKIT_LISTEN_FD", "5"},
                                  {"GDAKIT_EXIT_PIPE", "/proc/17/fd/8"},
                                  {"GDAKIT_TIMEOUT", "2.5"},
                                  {"GDAKIT_WATCHDOG", "0"},
                                  {"GDAKIT_QUEUE_DEPTH", "64"},
                                  {"GDAKIT_QUEUES_PER_PEER", "64"},
                                  {"GDAKIT_FETCH_SLOTS", "65536"},
                                  {"GDAKIT_SYMMETRIC_SIZE", "1M"},
                                  {"GDAKIT_HEAP_CHUNK", "8192"},
                                  {"GDAKIT_HEAP_LIMIT", "2G"},
                                  {"GDAKIT_CHECK_MEMORY", "on"},
                                  {"GDAKIT_LAUNCHES", "in-turn"},
                                  {"GDAKIT_NIC_HANDLER", "commands"},
                                  {"GDAKIT_EMULATOR_WORKERS", "4"},
                                  {"GDAKIT_EMULATOR_STACK", "1M"},
                                  {"GDAKIT_DEVICE", "gpu"},
                                  {"GDAKIT_GPUS", "1,0,3"},
                                  {"GDAKIT_DMA", "kernels"},
                                  {"GDAKIT_QUEUE_MEMORY", "host"},
                                  {"GDAKIT_PAYLOAD", "host"},
                                  {"GDAKIT_TEAMS", "9"},
                                  {"GDAKIT_TEAM_SCRATCH", "16K"},
                                  {"GDAKIT_COLLECTIVES", "ring"},
                                  {"GDAKIT_TRANSPORT", "direct"},
                                  {"HOME", "/root"}});
  EXPECT_EQ(options.log, LogLevel::debug);
  EXPECT_EQ(options.backend, BackendChoice::softnic);
  EXPECT_EQ(options.rank, 3u);
  EXPECT_EQ(options.size, 8u);
  EXPECT_EQ(options.root, "node7:5000");
  EXPECT_EQ(options.secret, "00112233445566778899aAbBcCdDeEfF");
  EXPECT_EQ(options.launcher, LauncherChoice::torchrun);
  EXPECT_EQ(options.local_rank, 5u);
  EXPECT_EQ(options.listen_fd, 5u);
  EXPECT_EQ(options.exit_pipe, "/proc/17/fd/8");
  EXPECT_EQ(options.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(options.watchdog, std::chrono::milliseconds(0));
  EXPECT_EQ(options.queue_depth, 64u);
  EXPECT_EQ(options.queues_per_peer, 64u);
  EXPECT_EQ(options.fetch_slots, 65536u);
  EXPECT_EQ(options.symmetric_size, 1u << 20);
  EXPECT_EQ(options.heap_chunk, 8192u);
  EXPECT_EQ(options.heap_limit, std::uint64_t{2} << 30);
  EXPECT_TRUE(options.check_memory);
  EXPECT_EQ(options.launches, LaunchOrder::in_turn);
  EXPECT_EQ(options.nic_handler, NicHandler::commands);
  EXPECT_EQ(options.emulator_workers, 4u);
  EXPECT_EQ(options.emulator_stack, 1u << 20);
  EXPECT_EQ(options.device, DeviceChoice::gpu);
  EXPECT_EQ(options.gpus, (std::vector<std::uint32_t>{1, 0, 3}));
  EXPECT_EQ(options.dma, DmaChoice::kernels);
  EXPECT_EQ(options.queue_memory, QueuePlace::host);
  EXPECT_EQ(options.payload, PayloadPath::host);
  EXPECT_EQ(options.teams, 9u);
  EXPECT_EQ(options.team_scratch, 16384u);
  EXPECT_EQ(options.collectives, CollectiveChoice::ring);
  EXPECT_EQ(options.transport, TransportChoice::direct);
}

// What they mean, the NIC says.
TEST(Options, TextsForTheNicAreTakenAsTheyAre) {
  const Options options = parsed(
      {{"GDAKIT_NIC_ADDRESS", "eth0:4792"}, {"GDAKIT_NIC_CONGESTION", "on"},
       {"GDAKIT_HCA_LIST", "^mlx5_1:2"},    {"GDAKIT_HCA_MAP", "mlx5_1+mlx5_2,mlx5_0:2+mlx5_3"},
       {"GDAKIT_NICS_PER_PE", "2"},         {"GDAKIT_PKEY_INDEX", "65535"},
       {"GDAKIT_GID", "v2,10.0.0.0/8"},     {"GDAKIT_SERVICE_LEVEL", "3"},
       {"GDAKIT_TRAFFIC_CLASS", "105"},     {"GDAKIT_RELAXED_ORDERING", "off"},
       {"GDAKIT_PLACEMENT", "any"},         {"GDAKIT_CONNECT", "0-3,8"},
       {"GDAKIT_QUEUE_TYPE", "dc"},         {"GDAKIT_DC_QUEUES", "16"},
       {"GDAKIT_DOORBELL_RECORDS", "off"},  {"GDAKIT_DC_RESPONDERS", "4"},
       {"GDAKIT_NIC_TAGS", "on"},           {"GDAKIT_NIC_FAULTS", "drop=1%"},
       {"GDAKIT_CAPTURE", "packets"},       {"GDAKIT_TRACE", "traces"}});
  EXPECT_EQ(options.nic_address, "eth0:4792");
  EXPECT_EQ(options.hca_list, "^mlx5_1:2");
  EXPECT_EQ(options.hca_map, "mlx5_1+mlx5_2,mlx5_0:2+mlx5_3");
  EXPECT_EQ(options.nics_per_pe, 2u);
  EXPECT_EQ(options.pkey_index, 65535u);
  EXPECT_EQ(options.gid, "v2,10.0.0.0/8");
  EXPECT_EQ(options.service_level, 3u);
  EXPECT_EQ(options.traffic_class, 105u);
  EXPECT_FALSE(options.relaxed_ordering);
  EXPECT_EQ(options.placement, Placement::any);
  EXPECT_EQ(options.connect, "0-3,8");
  EXPECT_EQ(options.queue_type, QueueType::dc);
  EXPECT_EQ(options.dc_queues, 16u);
  EXPECT_FALSE(options.doorbell_records);
  EXPECT_EQ(options.nic_faults, "drop=1%");
  EXPECT_TRUE(options.nic_congestion);
  EXPECT_EQ(options.dc_responders, 4u);
  EXPECT_TRUE(options.nic_tags);
  EXPECT_EQ(options.capture, "packets");
  EXPECT_EQ(options.trace, "traces");
}

struct Refused {
  const char* name;
  const char* value;
};
class OptionsRefuse : public testing::TestWithParam<Refused> {};

TEST_P(OptionsRefuse, AValueThatIsNotAllowed) {
  const auto [name, value] = GetParam();
  EXPECT_THAT(error_of({{name, value}}),
              AllOf(HasSubstr(name), HasSubstr("\"" + std::string(value) + "\" is not allowed"),
                    HasSubstr(std::string("allowed is ") + row_of(name).allowed)));
}

INSTANTIATE_TEST_SUITE_P(
    All, OptionsRefuse,
    testing::Values(
        Refused{"GDAKIT_LOG", "loud"}, Refused{"GDAKIT_LOG", ""}, Refused{"GDAKIT_LOG", "WARN"},
        Refused{"GDAKIT_BACKEND", "efa"}, Refused{"GDAKIT_HCA_LIST", "^"},
        Refused{"GDAKIT_HCA_LIST", "mlx5_0:x"}, Refused{"GDAKIT_HCA_MAP", "mlx5_0+"},
        Refused{"GDAKIT_NICS_PER_PE", "0"}, Refused{"GDAKIT_NICS_PER_PE", "9"},
        Refused{"GDAKIT_PKEY_INDEX", "-1"}, Refused{"GDAKIT_PKEY_INDEX", "65536"},
        Refused{"GDAKIT_RANK", "-1"}, Refused{"GDAKIT_RANK", "65536"}, Refused{"GDAKIT_RANK", "1x"},
        Refused{"GDAKIT_SIZE", "0"}, Refused{"GDAKIT_SIZE", "65537"},
        Refused{"GDAKIT_SIZE", "99999999999999999999"}, Refused{"GDAKIT_ROOT", "node7"},
        Refused{"GDAKIT_ROOT", ":5000"}, Refused{"GDAKIT_ROOT", "node7:"},
        Refused{"GDAKIT_ROOT", "node7:0"}, Refused{"GDAKIT_ROOT", "node7:65536"},
        Refused{"GDAKIT_LISTEN_FD", "-1"}, Refused{"GDAKIT_DEVICE", "cuda"},
        Refused{"GDAKIT_GPUS", ""}, Refused{"GDAKIT_GPUS", "0,,1"}, Refused{"GDAKIT_GPUS", "1024"},
        Refused{"GDAKIT_DMA", "copy"}, Refused{"GDAKIT_QUEUE_MEMORY", "gpu"},
        Refused{"GDAKIT_PAYLOAD", "gpu"}, Refused{"GDAKIT_TRANSPORT", "shm"},
        Refused{"GDAKIT_LISTEN_FD", "stdin"}, Refused{"GDAKIT_EXIT_PIPE", "9"},
        Refused{"GDAKIT_TIMEOUT", "0"}, Refused{"GDAKIT_TIMEOUT", "-5"},
        Refused{"GDAKIT_TIMEOUT", "nan"}, Refused{"GDAKIT_TIMEOUT", "inf"},
        Refused{"GDAKIT_TIMEOUT", "60s"}, Refused{"GDAKIT_TIMEOUT", "1000001"},
        Refused{"GDAKIT_WATCHDOG", "-1"}, Refused{"GDAKIT_WATCHDOG", "never"},
        Refused{"GDAKIT_QUEUE_DEPTH", "32"}, Refused{"GDAKIT_QUEUE_DEPTH", "100"},
        Refused{"GDAKIT_QUEUE_DEPTH", "65536"}, Refused{"GDAKIT_QUEUES_PER_PEER", "0"},
        Refused{"GDAKIT_QUEUES_PER_PEER", "65"}, Refused{"GDAKIT_FETCH_SLOTS", "16"},
        Refused{"GDAKIT_FETCH_SLOTS", "48"}, Refused{"GDAKIT_FETCH_SLOTS", "131072"},
        Refused{"GDAKIT_SYMMETRIC_SIZE", "4095"}, Refused{"GDAKIT_SYMMETRIC_SIZE", "64T"},
        Refused{"GDAKIT_SYMMETRIC_SIZE", "64MB"}, Refused{"GDAKIT_SYMMETRIC_SIZE", "M"},
        Refused{"GDAKIT_HEAP_CHUNK", "0"}, Refused{"GDAKIT_HEAP_CHUNK", "-64M"},
        Refused{"GDAKIT_HEAP_LIMIT", "65537G"}, Refused{"GDAKIT_HEAP_LIMIT", ""},
        Refused{"GDAKIT_HEAP_LIMIT", "17179869185G"}, Refused{"GDAKIT_NIC_HANDLER", "cpu"},
        Refused{"GDAKIT_EMULATOR_WORKERS", "0"}, Refused{"GDAKIT_EMULATOR_WORKERS", "65"},
        Refused{"GDAKIT_LAUNCHES", "in_turn"}));

TEST(Options, ARefusedSecretIsNotShown) {
  for (const char* secret :
       {"0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdeg"}) {
    EXPECT_THAT(error_of({{"GDAKIT_SECRET", secret}}),
                AllOf(HasSubstr("GDAKIT_SECRET"), HasSubstr("32 hexadecimal digits"),
                      Not(HasSubstr("0123"))));
  }
}

TEST(Options, RankAndSizeGoTogether) {
  EXPECT_THAT(error_of({{"GDAKIT_RANK", "0"}}), HasSubstr("only GDAKIT_RANK is set"));
  EXPECT_THAT(error_of({{"GDAKIT_SIZE", "2"}}), HasSubstr("only GDAKIT_SIZE is set"));
  EXPECT_THAT(error_of({{"GDAKIT_RANK", "2"}, {"GDAKIT_SIZE", "2"}}),
              HasSubstr("allowed is an integer from 0 to 1"));
}

TEST(Options, TheHeapStartsWithinItsLimit) {
  EXPECT_THAT(error_of({{"GDAKIT_SYMMETRIC_SIZE", "2M"}, {"GDAKIT_HEAP_LIMIT", "1M"}}),
              AllOf(HasSubstr("GDAKIT_SYMMETRIC_SIZE (2M)"), HasSubstr("GDAKIT_HEAP_LIMIT (1M)")));
}

TEST(Options, TheMapGivesEachPeAsManyNicsAsItTakes) {
  EXPECT_THAT(error_of({{"GDAKIT_HCA_MAP", "mlx5_0+mlx5_1"}}),
              HasSubstr("its entry mlx5_0+mlx5_1 names 2 NICs, where a PE takes 1"));
  EXPECT_THAT(error_of({{"GDAKIT_HCA_MAP", "mlx5_0"}, {"GDAKIT_NICS_PER_PE", "2"}}),
              HasSubstr("its entry mlx5_0 names 1 NIC, where a PE takes 2"));
  EXPECT_THAT(error_of({{"GDAKIT_HCA_MAP", "mlx5_0+mlx5_0"}, {"GDAKIT_NICS_PER_PE", "2"}}),
              HasSubstr("names mlx5_0 a second time"));
}

TEST(Options, ASourceSaysWhoSetTheValue) {
  Options options = parsed({{"GDAKIT_QUEUE_DEPTH", "256"}, {"GDAKIT_SYMMETRIC_SIZE", "1024K"}});
  const auto source = [&](const char* name) { return option_source(row_of(name), options); };
  EXPECT_EQ(source("GDAKIT_TIMEOUT"), OptionSource::fallback);
  EXPECT_EQ(source("GDAKIT_QUEUE_DEPTH"), OptionSource::environment);
  EXPECT_EQ(source("GDAKIT_SYMMETRIC_SIZE"), OptionSource::environment);
  options.timeout = std::chrono::seconds(5);
  options.queue_depth = 1024;  // the default, but the environment said otherwise
  EXPECT_EQ(source("GDAKIT_TIMEOUT"), OptionSource::program);
  EXPECT_EQ(source("GDAKIT_QUEUE_DEPTH"), OptionSource::program);
}

TEST(Options, ValuesThatAProgramSetsAreValidatedToo) {
  Options options;
  EXPECT_TRUE(options.validate());
  options.queue_depth = 100;
  const Result<void> valid = options.validate();
  ASSERT_FALSE(valid);
  EXPECT_THAT(valid.error().message(), AllOf(HasSubstr("GDAKIT_QUEUE_DEPTH"), HasSubstr("100")));
  options.queue_depth = 128;
  options.timeout = std::chrono::milliseconds(0);
  EXPECT_FALSE(options.validate());
}

TEST(Options, AnUnknownVariableGetsAWarningThatNamesTheNearest) {
  const Result<ParsedOptions> result = parse_options({{"GDAKIT_QUEUE_DEPHT", "64"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->options.queue_depth, 1024u);
  ASSERT_EQ(result->warnings.size(), 1u);
  EXPECT_THAT(result->warnings[0],
              AllOf(HasSubstr("GDAKIT_QUEUE_DEPHT is not"), HasSubstr("GDAKIT_QUEUE_DEPTH?")));
  const Result<ParsedOptions> far = parse_options({{"GDAKIT_FOO", "64"}});
  ASSERT_EQ(far->warnings.size(), 1u);
  EXPECT_THAT(far->warnings[0], AllOf(HasSubstr("GDAKIT_FOO is not"), HasSubstr("info shows"),
                                      testing::Not(HasSubstr("did you mean"))));
}

TEST(Options, LeavesTheVariablesOfTestsToThem) {
  const Result<ParsedOptions> result = parse_options({{"GDAKIT_TEST_SMALL", "1"}});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_TRUE(result->warnings.empty());
}

TEST(Options, WhatOtherLaunchersSetIsKeptWithoutAWarning) {
  const Options options = parsed({{"RANK", "3"}, {"SLURM_PROCID", ""}, {"SLURM_GTIDS", "0"}});
  EXPECT_THAT(options.set_by_launcher, testing::ElementsAre(testing::Pair("RANK", "3")));
  EXPECT_THAT(launcher_variables(), testing::Contains(testing::StrEq("PMIX_RANK")));
}

TEST(Options, TheEnvironmentOfTheProcessIsRead) {
  ::setenv("TORCHELASTIC_RUN_ID", "r7", 1);
  ::setenv("GDAKIT_EMULATOR_WORKERS", "7", 1);
  ::setenv("GDAKIT_WATCHDGO", "7", 1);
  testing::internal::CaptureStderr();
  const Result<Options> options = Options::from_environment();
  const std::string warning = testing::internal::GetCapturedStderr();
  ::setenv("GDAKIT_LOG", "error", 1);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Options::from_environment());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "GDAKIT_LOG=error hides warnings";
  ::setenv("GDAKIT_EMULATOR_WORKERS", "many", 1);
  EXPECT_FALSE(Options::from_environment());
  for (const char* name :
       {"GDAKIT_EMULATOR_WORKERS", "GDAKIT_WATCHDGO", "GDAKIT_LOG", "TORCHELASTIC_RUN_ID"}) {
    ::unsetenv(name);
  }
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->emulator_workers, 7u);
  EXPECT_EQ(options->set_by_launcher.at("TORCHELASTIC_RUN_ID"), "r7");
  EXPECT_THAT(warning, AllOf(HasSubstr("gdakit warn: "), HasSubstr("GDAKIT_WATCHDOG?")));
}

}  // namespace
}  // namespace gdakit
