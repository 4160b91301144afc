#include <algorithm>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "sim/niclitmus/check.h"
#include "sim/niclitmus/parser.h"

namespace gdakit::sim::niclitmus {
namespace {

constexpr std::uint64_t kMaxExecutions = 200'000;
constexpr std::uint64_t kRandomExecutions = 2'000;

std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(GDAKIT_NICLITMUS_DIR)) {
    if (entry.path().extension() == ".niclitmus") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class NicLitmus : public testing::TestWithParam<std::string> {};

TEST_P(NicLitmus, ShowsWhatItsVerdictsSayAndNothingElse) {
  const Result<Program> program = parse_file(GetParam());
  ASSERT_TRUE(program) << program.error().message();
  for (const Verdict& verdict : program->verdicts) {
    const Check check = check_all(*program, verdict, kMaxExecutions);
    EXPECT_TRUE(check.complete) << verdict.setting;
    EXPECT_EQ(check.complaint(), "") << verdict.setting;
    const Check random = check_random(*program, verdict, 1, kRandomExecutions);
    EXPECT_EQ(random.complaint(), "") << verdict.setting;
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, NicLitmus, testing::ValuesIn(files()), name_of);

TEST(NicLitmusFiles, AreThereAndCarryTheirNames) {
  const std::vector<std::string> paths = files();
  EXPECT_GE(paths.size(), 30u);
  for (const std::string& path : paths) {
    const Result<Program> program = parse_file(path);
    ASSERT_TRUE(program) << program.error().message();
    EXPECT_EQ(program->name, std::filesystem::path(path).stem().string());
    EXPECT_FALSE(program->question.empty());
    EXPECT_FALSE(program->fact.empty());
  }
}

constexpr const char* kTest =
    "NIC name\n\"Question?\"\nfact \"Fact.\"\n"
    "{ slots w0 w1; 1: host heap y = 5; record d; }\n"
    " P0@cta 0,gpu 0 | NIC0 ;\n"
    " st.weak w0, 1  | doorbell r0 ;\n"
    " st.mmio NIC0 2, 7 | dma.read r1, w0, 2 ;\n"
    " | dma.wait ;\n"
    "exists (NIC0:r0 = 7 /\\ NIC0:r1 = 0)\n";

TEST(NicLitmusParser, ReadsRegionsAgentsAndVerdicts) {
  const std::string text =
      std::string(kTest) +
      "verdict default: allowed race\nverdict ampere cqe_bytes=any: forbidden\n";
  const Result<Program> program = parse(text, "x");
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(program->name, "name");
  EXPECT_EQ(program->question, "Question?");
  EXPECT_EQ(program->fact, "Fact.");
  EXPECT_EQ(program->pes, 2u);
  ASSERT_EQ(program->words.size(), 4u);
  EXPECT_EQ(program->words[1].offset, program->words[0].offset + 8);
  EXPECT_EQ(program->words[2].pe, 1u);
  EXPECT_EQ(program->layout.find(program->words[2].offset)->owner, Owner::host);
  EXPECT_EQ(program->base.locations[2].initial, 5);
  EXPECT_EQ(program->words[3].bytes, 4u);
  ASSERT_EQ(program->agents.size(), 2u);
  EXPECT_FALSE(program->agents[0].is_nic);
  EXPECT_TRUE(program->agents[1].is_nic);
  EXPECT_EQ(program->agents[0].steps[1].action, Action::mmio);
  EXPECT_EQ(program->agents[0].steps[1].number, 2u);
  EXPECT_EQ(program->agents[1].steps[1].destinations, (std::vector<std::uint32_t>{1, 2}));
  ASSERT_EQ(program->verdicts.size(), 2u);
  EXPECT_TRUE(program->verdicts[0].allowed);
  EXPECT_TRUE(program->verdicts[0].race);
  EXPECT_EQ(program->verdicts[1].knobs.inbound_order, InboundOrder::none);
  EXPECT_EQ(program->verdicts[1].knobs.cqe_bytes, CqeBytes::any);
  EXPECT_FALSE(program->verdicts[1].allowed);
}

// The test above with one thing replaced by another.
std::string error_of(const std::string& what, const std::string& by) {
  std::string text = std::string(kTest) + "verdict default: allowed race\n";
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), by);
  const Result<Program> program = parse(text, "file");
  if (program) return "";
  EXPECT_EQ(program.error().code(), Code::invalid_argument);
  return program.error().message();
}

TEST(NicLitmusParser, NamesTheLineAndTheMistake) {
  EXPECT_EQ(error_of("dma.wait", "dma.wait"), "") << "an unchanged test is right";
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error_of("NIC name", "PTX name"), "file:1"));
  EXPECT_TRUE(has(error_of("slots w0", "slot w0"), "file:4: there is no kind of region 'slot'"));
  EXPECT_TRUE(has(error_of("w0 w1", "w0 w0"), "'w0' is there twice"));
  EXPECT_TRUE(has(error_of("st.weak w0", "st.weak q"), "'q' is in no region"));
  EXPECT_TRUE(has(error_of("dma.read r1, w0, 2", "dma.read r1, w0, 3"), "file:7: there are not"));
  EXPECT_TRUE(has(error_of("dma.wait", "dma.hope"), "does not know 'hope'"));
  EXPECT_TRUE(has(error_of("NIC0 2, 7", "NICX 2, 7"), "expected NIC0 to NIC9"));
  EXPECT_TRUE(
      has(error_of("verdict default: allowed", "verdict volta: allowed"), "hopper or ampere"));
  EXPECT_TRUE(has(error_of("default: allowed", "default: perhaps"), "forbidden"));
  EXPECT_TRUE(has(error_of("verdict default: allowed race", ""), "needs a verdict"));
}

TEST(NicLitmusParser, AFileThatIsNotThereIsNotFound) {
  const Result<Program> program = parse_file("/no/such.niclitmus");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code(), Code::not_found);
}

// Verdicts that are wrong in each direction must be told.
TEST(NicLitmusCheck, TellsAWrongVerdict) {
  const auto complaint = [](const std::string& verdict) {
    const std::string text = std::string(kTest) + "verdict default: " + verdict + "\n";
    const Result<Program> program = parse(text, "x");
    EXPECT_TRUE(program);
    return check_all(*program, program->verdicts[0], 100'000).complaint();
  };
  EXPECT_EQ(complaint("allowed race"), "");
  EXPECT_EQ(complaint("forbidden race"), "what is forbidden was seen");
  EXPECT_NE(complaint("allowed").find("there is a race"), std::string::npos);
}

TEST(NicLitmusCheck, TellsWhatWasNotSeen) {
  std::string text = kTest;
  text.replace(text.find("st.mmio"), 0, "fence.acq_rel.sys | ;\n ");
  for (const std::string verdict : {"allowed", "forbidden race"}) {
    const Result<Program> program = parse(text + "verdict default: " + verdict + "\n", "x");
    ASSERT_TRUE(program) << program.error().message();
    const Check check = check_all(*program, program->verdicts[0], 100'000);
    EXPECT_TRUE(check.complete);
    EXPECT_EQ(check.complaint(),
              verdict == "allowed" ? "what is allowed was not seen" : "there is no race");
  }
}

TEST(NicLitmusCheck, SaysThatALimitWasReached) {
  const std::string text = std::string(kTest) + "verdict default: allowed race\n";
  const Result<Program> program = parse(text, "x");
  ASSERT_TRUE(program);
  EXPECT_FALSE(check_all(*program, program->verdicts[0], 2).complete);
}

}  // namespace
}  // namespace gdakit::sim::niclitmus
