// What users' NVSHMEM_* variables mean.
#include "nvshmem/library/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::nvshmem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Options options_of(const Variables& environment) {
  const Result<ParsedOptions> parsed = parse_options(translate(environment).variables);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? parsed->options : Options();
}

TEST(Variables, HaveTheMeaningOfGdakitsOwn) {
  const Options options = options_of({{"NVSHMEM_SYMMETRIC_SIZE", "1.5G"},
                                      {"NVSHMEM_DEBUG", "TRACE"},
                                      {"NVSHMEM_QP_DEPTH", "1000"},
                                      {"NVSHMEM_IBGDA_NIC_HANDLER", "cpu"},
                                      {"NVSHMEM_DISABLE_P2P", "1"},
                                      {"NVSHMEM_MAX_TEAMS", "12"},
                                      {"NVSHMEM_REDUCE_SCRATCH_SIZE", "512k"}});
  EXPECT_EQ(options.symmetric_size, std::uint64_t{3} << 29);
  EXPECT_EQ(options.log, LogLevel::debug);
  EXPECT_EQ(options.queue_depth, 1024u);
  EXPECT_EQ(options.nic_handler, NicHandler::proxy);
  EXPECT_EQ(options.transport, TransportChoice::nic);
  EXPECT_EQ(options.teams, 12u);
  EXPECT_EQ(options.team_scratch, 512u << 10);
}

TEST(Variables, AHeapThatIsLargeFromTheBeginningRaisesItsLimit) {
  const Options options = options_of({{"NVSHMEM_SYMMETRIC_SIZE", "20G"}});
  EXPECT_EQ(options.symmetric_size, std::uint64_t{20} << 30);
  EXPECT_EQ(options.heap_limit, std::uint64_t{20} << 30);
}

TEST(Variables, OfMemoryAndTeamsSetLimitsAndSayThem) {
  EXPECT_EQ(options_of({{"NVSHMEM_MAX_MEMORY_PER_GPU", "128G"}}).heap_limit,
            std::uint64_t{128} << 30);
  EXPECT_EQ(options_of({{"NVSHMEM_CUMEM_GRANULARITY", "512M"}}).heap_chunk,
            std::uint64_t{512} << 20);
  EXPECT_THAT(translate({{"NVSHMEM_MAX_TEAMS", "65"}}).warnings,
              ElementsAre(HasSubstr("GDAKIT_TEAMS takes an integer from 4 to 64")));
}

TEST(Variables, OfTransportAndHandlerMeanTheSameInAnyOrder) {
  const auto handler_of = [](const char* transport, const char* handler) {
    const Variables both{{"NVSHMEM_REMOTE_TRANSPORT", transport},
                         {"NVSHMEM_IBGDA_NIC_HANDLER", handler}};
    const NicHandler found = options_of(both).nic_handler;
    EXPECT_EQ(options_of({both[1], both[0]}).nic_handler, found);
    return found;
  };
  EXPECT_EQ(handler_of("ibgda", "cpu"), NicHandler::proxy);
  EXPECT_EQ(handler_of("ibgda", "gpu"), NicHandler::gpu);
  EXPECT_EQ(handler_of("ibrc", "gpu"), NicHandler::commands);
}

TEST(Variables, OfRdmaNicsChooseThemAndTheirAddresses) {
  const Options options = options_of({{"NVSHMEM_HCA_LIST", "^mlx5_0,mlx5_3:1"},
                                      {"NVSHMEM_IB_GID_INDEX", "3"},
                                      {"NVSHMEM_IB_SL", "2"},
                                      {"NVSHMEM_IB_TRAFFIC_CLASS", "106"}});
  EXPECT_EQ(options.hca_list, "^mlx5_0,mlx5_3:1");
  EXPECT_EQ(options.gid, "3");
  EXPECT_EQ(options.service_level, 2u);
  EXPECT_EQ(options.traffic_class, 106u);
  EXPECT_THAT(translate({{"NVSHMEM_IB_SL", "16"}}).warnings,
              ElementsAre(HasSubstr("GDAKIT_SERVICE_LEVEL takes an integer from 0 to 15")));
}

TEST(Variables, OfGdakitWin) {
  EXPECT_EQ(options_of({{"GDAKIT_TEAMS", "9"}, {"NVSHMEM_MAX_TEAMS", "12"}}).teams, 9u);
}

TEST(Variables, ThatMeanNothingHereAreNamed) {
  const TranslatedVariables translated = translate({{"NVSHMEM_ENABLE_NIC_PE_MAPPING", "1"},
                                                    {"NVSHMEM_DISABLE_GDRCOPY", "1"},
                                                    {"NVSHMEM_IB_ENABLE_IBGDA", "0"},
                                                    {"HOME", "/"},
                                                    {"GDAKIT_TEAMS", "9"}});
  EXPECT_THAT(translated.warnings, ElementsAre(HasSubstr("NVSHMEM_ENABLE_NIC_PE_MAPPING"),
                                               HasSubstr("NVSHMEM_DISABLE_GDRCOPY"),
                                               HasSubstr("NVSHMEM_IB_ENABLE_IBGDA")));
  EXPECT_EQ(translated.variables.size(), 5u);  // nothing but what was there
}

TEST(Variables, WithValuesThatMeanNothingHereAreNamed) {
  for (const auto& [name, value] : Variables{{"NVSHMEM_SYMMETRIC_SIZE", "much"},
                                             {"NVSHMEM_SYMMETRIC_SIZE", "-1"},
                                             {"NVSHMEM_SYMMETRIC_SIZE", "inf"},
                                             {"NVSHMEM_SYMMETRIC_SIZE", "nan"},
                                             {"NVSHMEM_SYMMETRIC_SIZE", "1e30"},
                                             {"NVSHMEM_QP_DEPTH", "9223372036854775809"},
                                             {"NVSHMEM_QP_DEPTH", "0"},
                                             {"NVSHMEM_DEBUG", "loud"},
                                             {"NVSHMEM_REMOTE_TRANSPORT", "ucx"},
                                             {"NVSHMEM_DISABLE_P2P", "maybe"},
                                             {"NVSHMEM_MAX_TEAMS", "1000000"},
                                             {"NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE", "nowhere"},
                                             {"NVSHMEM_IBGDA_NUM_RC_PER_PE", "0"},
                                             {"NVSHMEM_BOOTSTRAP", "SHMEM"}}) {
    const TranslatedVariables translated = translate({{name, value}});
    EXPECT_THAT(translated.warnings, ElementsAre(HasSubstr(name + "=" + value)));
    EXPECT_EQ(translated.variables.size(), 1u) << name;  // nothing but itself
  }
}

TEST(Variables, QueuesLieWhereNicBuffersShall) {
  const auto place_for = [](const char* memory) {
    return options_of({{"NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE", memory}}).queue_memory;
  };
  EXPECT_EQ(place_for("hostmem"), QueuePlace::host);
  EXPECT_EQ(place_for("gpumem"), QueuePlace::automatic);
}

TEST(Variables, AskForAnIntroduction) {
  Options options;
  options.queue_depth = 256;
  options.secret = "000102030405060708090a0b0c0d0e0f";
  for (const char* const no : {"0", "3.4.5"}) {
    EXPECT_EQ(introduction({{"NVSHMEM_VERSION", no}, {"NVSHMEM_DEBUG", "INFO"}}, options), "");
  }
  EXPECT_EQ(introduction({{"NVSHMEM_INFO", "false"}}, options), "");
  const std::string version = introduction({{"NVSHMEM_VERSION", "1"}}, options);
  EXPECT_THAT(version, testing::MatchesRegex("gdakit [0-9.]+ with the interface of NVSHMEM 3.5.0"));
  const std::string all = introduction({{"NVSHMEM_INFO", "true"}}, options);
  EXPECT_THAT(all, testing::StartsWith(version + "\n"));
  EXPECT_THAT(all, HasSubstr("\nGDAKIT_QUEUE_DEPTH=256 (program)\n"));
  EXPECT_THAT(all, HasSubstr("\nGDAKIT_TEAMS=32 (default)\n"));
  EXPECT_THAT(all, HasSubstr("\nGDAKIT_SECRET=(set) (program)\n"));
}

TEST(Variables, OfNvshmemThatAskForWhatIsThereAnyhowAreTaken) {
  EXPECT_THAT(translate({{"NVSHMEM_IB_ENABLE_IBGDA", "1"}}).warnings, IsEmpty());
  EXPECT_THAT(translate({{"NVSHMEM_DISABLE_NVLS", "1"}}).warnings, IsEmpty());
  EXPECT_THAT(translate({{"NVSHMEM_DISABLE_NCCL", "1"}}).warnings, IsEmpty());
  EXPECT_THAT(translate({{"NVSHMEM_MACHINE_READABLE_OUTPUT", "1"}}).warnings, IsEmpty());
  for (const char* const value : {"0", "1"}) {
    EXPECT_THAT(translate({{"NVSHMEM_INFO", value}, {"NVSHMEM_VERSION", value}}).warnings,
                IsEmpty());
  }
  EXPECT_THAT(translate({{"NVSHMEM_VERSION", "3.4.5"}}).warnings, IsEmpty());
  EXPECT_THAT(translate({{"NVSHMEM_INFO", "much"}}).warnings,
              ElementsAre(HasSubstr("NVSHMEM_INFO")));
  EXPECT_THAT(translate({{"NVSHMEM_DISABLE_NVLS", "0"}}).warnings,
              ElementsAre(HasSubstr("NVSHMEM_DISABLE_NVLS")));
}

}  // namespace
}  // namespace gdakit::nvshmem
