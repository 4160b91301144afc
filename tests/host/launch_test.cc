// Which launcher is asked, and what happens where none has started this process.
#include "core/host/launch/launch.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/launch/launch_source.h"
#include "core/host/launch/tcp_listener.h"
#include "tests/host/launch_variables.h"

// Asked by the leak sanitizer, in whose builds libpmix would else fail these tests.
extern "C" const char* __lsan_default_suppressions() { return "leak:libpmix.so"; }

namespace gdakit::testing_launch {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Variables kGdakit = {{"GDAKIT_RANK", "1"},
                           {"GDAKIT_SIZE", "2"},
                           {"GDAKIT_ROOT", "node7:5000"},
                           {"GDAKIT_SECRET", "000102030405060708090a0b0c0d0eFF"}};

Variables joined(std::initializer_list<Variables> lists) {
  Variables all;
  for (const Variables& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// "gdakit", or the error's message.
std::string in_charge(const Options& options) {
  const Result<LaunchInfo> info = find_launch_info(options);
  return info ? launcher_choice_name(info->launcher) : info.error().message();
}

TEST(Launch, TheOrderIsGdakitPmixTorchrunSlurmNone) {
  Variables pmix = kPmix;
  pmix.push_back({"GDAKIT_TIMEOUT", "5"});
  Variables plain = kTorchrun;  // set by a script, as torchrun itself would leave its mark
  plain.pop_back();
  EXPECT_EQ(in_charge(started_with(joined({kGdakit, pmix, plain, kSlurm}))), "gdakit");
  EXPECT_THAT(in_charge(started_with(joined({pmix, plain, kSlurm}))),
              HasSubstr("(PMIX_RANK is set)"));
  EXPECT_EQ(in_charge(started_with(joined({plain, kSlurm}))), "torchrun");
  EXPECT_EQ(in_charge(started_with(kSlurm)), "slurm");
  EXPECT_EQ(in_charge(Options{}), "none");
}

TEST(Launch, TorchrunInsideAPmixJobIsTheOneToAsk) {
  EXPECT_EQ(in_charge(started_with(joined({kPmix, kTorchrun}))), "torchrun");
}

TEST(Launch, OneCanBeNamed) {
  const Variables all = joined({kGdakit, kTorchrun, kSlurm});
  for (const char* const name : {"gdakit", "torchrun", "slurm", "none"}) {
    EXPECT_EQ(in_charge(started_with(all, {{"GDAKIT_LAUNCHER", name}})), name);
  }
}

TEST(Launch, OneThatIsNamedAndNotThereIsAnError) {
  const std::pair<const char*, const char*> missing[] = {{"gdakit", "GDAKIT_RANK"},
                                                         {"pmix", "PMIX_RANK"},
                                                         {"torchrun", "RANK"},
                                                         {"slurm", "SLURM_PROCID"}};
  for (const auto& [name, variable] : missing) {
    EXPECT_THAT(in_charge(started_with({}, {{"GDAKIT_LAUNCHER", name}})),
                AllOf(HasSubstr(std::string("GDAKIT_LAUNCHER=") + name),
                      HasSubstr(std::string(variable) + " is not set")));
  }
}

TEST(Launch, APmixServerThatCannotBeReachedIsAnError) {
  const Options options = started_with(kPmix, {{"GDAKIT_TIMEOUT", "10"}});
  EXPECT_THAT(in_charge(options),
              AllOf(HasSubstr("(PMIX_RANK is set)"), HasSubstr("GDAKIT_LAUNCHER=none")));
  const Options slurm = started_with(joined({kPmix, kSlurm}), {{"GDAKIT_TIMEOUT", "10"}});
  EXPECT_THAT(in_charge(slurm), HasSubstr("GDAKIT_LAUNCHER=slurm"));
}

TEST(Launch, PmixWithOneProcessNeedsNoServer) {
  const Options options =
      started_with(kPmix, {{"OMPI_COMM_WORLD_SIZE", "1"}, {"GDAKIT_TIMEOUT", "10"}});
  const Result<LaunchInfo> info = find_launch_info(options);
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->size, 1);
}

TEST(Launch, PmixByHalfIsAnError) {
  EXPECT_THAT(in_charge(started_with(kPmix, {{"PMIX_NAMESPACE", ""}})),
              HasSubstr("PMIX_RANK is set and PMIX_NAMESPACE is not"));
}

TEST(Launch, AnMpiLauncherWithoutPmixIsAnErrorAndNoJobOfOne) {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    EXPECT_THAT(in_charge(started_with({{name, "4"}})),
                AllOf(HasSubstr(std::string(name) + " is 4"), HasSubstr("gdakit_mpi.h"),
                      HasSubstr("GDAKIT_LAUNCHER=none")));
    EXPECT_EQ(in_charge(started_with({{name, "1"}})), "none");
    EXPECT_EQ(in_charge(started_with({{name, "4"}}, {{"GDAKIT_LAUNCHER", "none"}})), "none");
  }
}

TEST(Launch, AWorldWithoutARankIsWarnedOf) {
  const Options options = started_with({{"WORLD_SIZE", "8"}, {"MASTER_ADDR", "gpu7"}});
  EXPECT_THAT(start_launch(options)->warnings,
              ElementsAre(AllOf(HasSubstr("WORLD_SIZE is 8"), HasSubstr("RANK is not set"),
                                HasSubstr("GDAKIT_LAUNCHER=none"))));
  Options alone = options;
  alone.launcher = LauncherChoice::none;
  EXPECT_THAT(start_launch(alone)->warnings, IsEmpty());
  EXPECT_THAT(start_launch(Options{})->warnings, IsEmpty());
}

TEST(Launch, EveryLauncherIsReportedWithItsReason) {
  Options options = started_with(joined({kTorchrun, kSlurm}));
  options.secret = "000102030405060708090a0b0c0d0eFF";
  const std::vector<LauncherReport> reports = report_launchers(options);
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_EQ(reports[0].sentence, "GDAKIT_RANK is not set");
  EXPECT_EQ(reports[1].sentence, "PMIX_RANK is not set");
  EXPECT_TRUE(reports[2].in_charge);
  EXPECT_EQ(reports[2].sentence, "RANK and WORLD_SIZE are set");
  EXPECT_FALSE(reports[3].in_charge);
  EXPECT_THAT(reports[3].sentence, HasSubstr("torchrun is asked instead"));
  const std::vector<LauncherReport> alone = report_launchers(Options{});
  ASSERT_EQ(alone.size(), 5u);
  EXPECT_TRUE(alone.back().in_charge);
  EXPECT_EQ(alone.back().launcher, LauncherChoice::none);
  for (const LauncherReport& report : reports) {
    EXPECT_THAT(report.sentence, Not(HasSubstr("000102")));
  }
}

// The address that a listener for PE 0 at `host` is bound to, as the system says it.
// listener_address() says 127.0.0.1 of all addresses, too.
std::string listens_at(const std::string& host) {
  const Result<UniqueFileDescriptor> listener = open_root_listener(host, 0);
  EXPECT_TRUE(listener) << listener.error().message();
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  if (!listener || ::getsockname(listener->get(), address, &size) != 0) return "";
  char text[NI_MAXHOST] = {};
  EXPECT_EQ(::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST), 0);
  if (bound.ss_family == AF_INET6) {
    EXPECT_EQ(listener_address(listener->get())->host, "127.0.0.1") << "not of IPv4, too";
  }
  return text;
}

TEST(RootListener, IsAtTheAddressThatIsNamedAlone) {
  for (const char* const host : {"127.0.0.1", "127.0.0.2"}) EXPECT_EQ(listens_at(host), host);
  ifaddrs* list = nullptr;
  ASSERT_EQ(::getifaddrs(&list), 0);
  for (const ifaddrs* row = list; row != nullptr; row = row->ifa_next) {
    if (row->ifa_addr == nullptr || row->ifa_addr->sa_family != AF_INET) continue;
    if ((row->ifa_flags & IFF_UP) == 0) continue;
    char text[NI_MAXHOST] = {};
    ASSERT_EQ(::getnameinfo(row->ifa_addr, sizeof(sockaddr_in), text, sizeof text, nullptr, 0,
                            NI_NUMERICHOST),
              0);
    EXPECT_EQ(listens_at(text), text);
  }
  ::freeifaddrs(list);
}

// Another host's address, by which this one is known behind a gateway; and a name, which may be
// that of the loopback here.
TEST(RootListener, OfAnAddressThatThisHostDoesNotHaveIsAtAll) {
  for (const char* const host : {"203.0.113.77", "node7.invalid"}) {
    EXPECT_THAT(listens_at(host), AnyOf("::", "0.0.0.0"));
  }
}

}  // namespace
}  // namespace gdakit::testing_launch
