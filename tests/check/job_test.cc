// What the PEs of a job find together: who drives which NIC, puts between them, differences; and
// how reports travel and are printed.
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/local_bootstrap.h"
#include "tests/check/made_up.h"
#include "tools/check/agreement.h"
#include "tools/check/packed.h"
#include "tools/check/pairs.h"
#include "tools/check/report.h"

namespace gdakit::tools::check {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> names_of(const std::vector<JobPort>& ports) {
  std::vector<std::string> names;
  for (const JobPort& port : ports) names.push_back(port.name);
  return names;
}

PePorts ports_of(const std::string& host, std::vector<std::string> names) {
  return {host, names, names};
}

TEST(CheckPairs, NicsOfAHostAreSharedOutAmongItsPes) {
  EXPECT_THAT(
      names_of(share_out({ports_of("a", {"n0", "n1", "n2"}), ports_of("a", {"n0", "n1", "n2"})})),
      ElementsAre("PE 0's n0", "PE 0's n2", "PE 1's n1"));
  EXPECT_THAT(names_of(share_out({ports_of("a", {"n0"}), ports_of("b", {"n0", "n1"})})),
              ElementsAre("PE 0's n0", "PE 1's n0", "PE 1's n1"));
}

TEST(CheckPairs, EachPeDrivesANicWhereThereAreFewer) {
  EXPECT_THAT(names_of(share_out({ports_of("a", {"n0", "n1"}), ports_of("a", {"n0", "n1"}),
                                  ports_of("a", {"n0", "n1"})})),
              ElementsAre("PE 0's n0", "PE 1's n1", "PE 2's n0"));
  EXPECT_THAT(names_of(share_out({ports_of("a", {}), ports_of("b", {"n0"})})),
              ElementsAre("PE 1's n0"));
}

// Runs the step on so many PEs, each with a machine of its own.
std::vector<StepReport> run_pairs(std::vector<std::unique_ptr<MadeUp>>& machines) {
  auto bootstraps =
      make_local_bootstraps(static_cast<int>(machines.size()), std::chrono::milliseconds(20'000));
  std::vector<StepReport> reports(machines.size());
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < machines.size(); ++pe) {
    threads.emplace_back([&, pe] {
      auto report = look_at_pairs(machines[pe]->surroundings(), *bootstraps->at(pe));
      EXPECT_TRUE(report);
      if (report) reports[pe] = *report;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return reports;
}

std::vector<std::unique_ptr<MadeUp>> machines_of(std::size_t count) {
  std::vector<std::unique_ptr<MadeUp>> machines;
  while (machines.size() < count) machines.push_back(std::make_unique<MadeUp>());
  return machines;
}

TEST(CheckPairs, EachNicPutsToEachOtherOne) {
  auto machines = machines_of(4);
  const auto reports = run_pairs(machines);
  for (std::size_t pe = 0; pe < 4; ++pe) {
    EXPECT_EQ(reports[pe].verdict, Verdict::ok);
    EXPECT_EQ(reports[pe].summary, "3 of 3 puts of 64 KiB from this PE arrived");
    EXPECT_EQ(machines[pe]->puts().puts, 3);
  }
}

TEST(CheckPairs, APairThatFailsIsNamedByBothEnds) {
  auto machines = machines_of(3);
  machines[1]->puts().outcome = {mlx5::PutOutcome::Kind::failed, 0x15, 0x81, "retries", {}};
  machines[2]->puts().wrong = 7;
  const auto reports = run_pairs(machines);
  EXPECT_EQ(reports[0].verdict, Verdict::ok);
  ASSERT_THAT(reports[1].findings, SizeIs(2));
  EXPECT_EQ(reports[1].findings[0].on, "mlx5_0 port 1 to PE 2's mlx5_0 port 1");
  EXPECT_THAT(reports[1].findings[0].cause, HasSubstr("4791"));
  EXPECT_EQ(reports[1].findings[0].proof, "ping 10.0.0.1");
  // Of what PE 0 sent; PE 1's puts never arrived.
  ASSERT_THAT(reports[2].findings, SizeIs(1));
  EXPECT_EQ(reports[2].findings[0].on, "mlx5_0 port 1 from PE 0's mlx5_0 port 1");
}

TEST(CheckPairs, APeThatHasNoQueueKeepsNobodyWaiting) {
  auto machines = machines_of(3);
  machines[0]->puts().made = Error(Code::system, "CREATE_QP", 121);
  const auto reports = run_pairs(machines);
  EXPECT_EQ(reports[0].verdict, Verdict::failed);
  EXPECT_THAT(reports[0].findings, SizeIs(4));  // a queue for each direction, in two rounds
  EXPECT_EQ(reports[1].summary, "1 of 2 puts of 64 KiB from this PE arrived");
  EXPECT_EQ(reports[2].verdict, Verdict::ok);
}

TEST(CheckPairs, FindingsOfOnePortAreLimited) {
  auto machines = machines_of(7);
  machines[0]->puts().outcome = {mlx5::PutOutcome::Kind::silent, 0, 0, "", {}};
  const auto reports = run_pairs(machines);
  EXPECT_THAT(reports[0].findings, SizeIs(4));
  EXPECT_THAT(reports[0].summary, HasSubstr("2 more failures are not listed"));
}

TEST(CheckPairs, OneNicHasNobodyToPutTo) {
  auto machines = machines_of(2);
  machines[1]->surroundings().nics->clear();
  for (const StepReport& report : run_pairs(machines)) EXPECT_EQ(report.verdict, Verdict::skipped);
}

PeReport report_of(int pe, const std::string& mtu) {
  StepReport port;
  port.step = "port";
  port.say("ACTIVE");
  port.facts = {{"MTU", mtu}, {"link layer", "RoCE"}};
  return {pe, "n" + std::to_string(pe), {port}, {"mlx5_" + std::to_string(pe)}};
}

TEST(CheckAgreement, TheOddOneOutIsNamed) {
  const StepReport alike = look_at_agreement({report_of(0, "4096"), report_of(1, "4096")});
  EXPECT_EQ(alike.verdict, Verdict::ok);
  EXPECT_THAT(alike.summary, HasSubstr("MTU"));
  const StepReport report =
      look_at_agreement({report_of(0, "4096"), report_of(1, "1024"), report_of(2, "4096")});
  EXPECT_EQ(report.verdict, Verdict::warning);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].on, "PE 1 on n1");
  EXPECT_EQ(report.findings[0].answer, "1024 on PE 1 on n1; 4096 on the other 2");
}

TEST(CheckAgreement, PesThatCannotConnectAreAFailure) {
  std::vector<PeReport> pes{report_of(0, "4096"), report_of(1, "4096"), report_of(2, "4096")};
  pes[2].steps[0].facts["link layer"] = "InfiniBand";
  EXPECT_EQ(look_at_agreement(pes).verdict, Verdict::failed);
}

TEST(CheckAgreement, APeThatHasNothingToTellIsAnOddOneToo) {
  std::vector<PeReport> pes{report_of(0, "4096"), report_of(1, "4096"), report_of(2, "4096")};
  pes[1].steps[0] = skipped("no NIC");
  const StepReport report = look_at_agreement(pes);
  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_THAT(report.findings[0].answer, HasSubstr("nothing to tell on PE 1"));
}

TEST(CheckAgreement, PesThatShareANicAreTold) {
  std::vector<PeReport> pes{report_of(0, "4096"), report_of(1, "4096")};
  const auto told = [&] { return look_at_agreement(pes).summary; };
  for (PeReport& pe : pes) pe.nics = {"mlx5_0"};
  EXPECT_THAT(told(), Not(HasSubstr("share")));  // of two hosts
  for (PeReport& pe : pes) pe.host = "n0";
  EXPECT_THAT(told(), HasSubstr("2 PEs share mlx5_0 of host n0"));
  pes[1].nics = {"mlx5_1"};
  EXPECT_THAT(told(), Not(HasSubstr("share")));
  for (PeReport& pe : pes) pe.nics.emplace_back("mlx5_2");  // another one of each
  EXPECT_THAT(told(), AllOf(HasSubstr("2 PEs share mlx5_2"), Not(HasSubstr("mlx5_1"))));
}

PeReport whole_report() {
  PeReport report = report_of(3, "1024");
  report.nics.emplace_back("mlx5_4");
  report.steps[0].add(
      {Verdict::failed, "on", "tried", "answer", "cause", "proof", "remedy", "otherwise"});
  return report;
}

TEST(CheckReport, ArrivesAsItWasSent) {
  const PeReport sent = whole_report();
  const auto got = unpack(pack(sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->pe, 3);
  EXPECT_EQ(got->host, "n3");
  EXPECT_THAT(got->nics, ElementsAre("mlx5_3", "mlx5_4"));
  ASSERT_THAT(got->steps, SizeIs(1));
  EXPECT_EQ(got->steps[0].findings, sent.steps[0].findings);
  EXPECT_EQ(got->steps[0].facts, sent.steps[0].facts);
  EXPECT_EQ(got->steps[0].verdict, Verdict::failed);
  EXPECT_EQ(got->steps[0].summary, "ACTIVE");
}

TEST(CheckReport, ThatWasCutShortIsRefused) {
  const Bytes packed = pack(whole_report());
  for (std::size_t bytes = 0; bytes < packed.size(); ++bytes) {
    const auto got = unpack(Bytes(packed.begin(), packed.begin() + static_cast<long>(bytes)));
    EXPECT_FALSE(got) << bytes;
  }
}

TEST(CheckReport, TextTellsOnceWhatSeveralPesFind) {
  PeReport first = whole_report(), second = whole_report();
  first.pe = 0;
  std::ostringstream out;
  print_text(out, {first, second, report_of(5, "4096")});
  EXPECT_THAT(out.str(), AllOf(HasSubstr("port          FAIL     2 of 3 PEs; PE 0: on: answer"),
                               HasSubstr("where         on, host n3, PE 0; host n3, PE 3"),
                               HasSubstr("proof         `proof`")));
  const std::string text = out.str();
  EXPECT_EQ(text.find("FAIL in step port"), text.rfind("FAIL in step port"));
}

TEST(CheckReport, TheWorstStepIsTheVerdict) {
  EXPECT_EQ(verdict_of({report_of(0, "1")}), Verdict::ok);
  EXPECT_EQ(verdict_of({report_of(0, "1"), whole_report()}), Verdict::failed);
  EXPECT_EQ(verdict_of(std::vector<PeReport>{{0, "n0", {skipped("why")}, {}}}), Verdict::skipped);
}

}  // namespace
}  // namespace gdakit::tools::check
