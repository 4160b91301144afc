// `gdakit run --gpus` and `--mps`, with a stand-in for NVIDIA's daemon.
#include "tools/gpus.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdlib.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "core/host/gpu/mps.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* kPath = "/usr/local/bin:/usr/bin:/bin";

std::vector<std::string> gpu_job(int size, std::vector<std::string> options,
                                 const std::string& script) {
  std::vector<std::string> words = {"run", "-n", std::to_string(size)};
  words.insert(words.end(), options.begin(), options.end());
  for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), script}) {
    words.push_back(word);
  }
  return words;
}

// A folder at the head of the PATH whose nvidia-cuda-mps-control writes down how it was called.
class StandIn {
 public:
  explicit StandIn(const std::string& start = kStart) : folder_(make_folder()) {
    const std::filesystem::path program = folder_ / "nvidia-cuda-mps-control";
    std::ofstream(program) << "#!/bin/sh\nlog=" << log().string() << "\n" << start << kQuit;
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    path_ = std::make_unique<Variable>("PATH", folder_.string() + ":" + kPath, kPath);
  }
  ~StandIn() {
    path_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string calls() const {
    std::ifstream file(log());
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static constexpr const char* kStart = R"(
if [ "$1" = -d ]; then
  echo "start $CUDA_MPS_PIPE_DIRECTORY" >> $log
  setsid sh -c 'echo $$ > $CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid; exec sleep 1000' &
  exit 0
fi
)";
  static constexpr const char* kQuit = R"(
read command
echo "$command $CUDA_MPS_PIPE_DIRECTORY" >> $log
kill $(cat $CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid)
)";

  static std::filesystem::path make_folder() {
    std::string name = std::filesystem::temp_directory_path() / "gdakit-test-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    return name;
  }
  std::filesystem::path log() const { return folder_ / "log"; }

  std::filesystem::path folder_;
  std::unique_ptr<Variable> path_;
};

// What a PE of a job that has a daemon prints: where it is, and its process.
constexpr const char* kShowDaemon =
    "echo $CUDA_MPS_PIPE_DIRECTORY $(cat $CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid)";

struct Daemon {
  std::string directory;
  pid_t process = 0;
};

Daemon shown(const std::string& line) {
  std::istringstream words(line);
  std::string prefix;
  Daemon daemon;
  words >> prefix >> daemon.directory >> daemon.process;
  return daemon;
}

TEST(RunGpus, EveryPeIsToldOfAll) {
  const Outcome job = gdakit(gpu_job(2, {"--gpus", "0,0", "--mps", "off"}, "echo $GDAKIT_GPUS"));
  EXPECT_EQ(job.status, 0) << job.errors;
  EXPECT_THAT(lines_of(job.output), UnorderedElementsAre("[0] 0,0", "[1] 0,0"));
}

TEST(RunGpus, WithoutThemTheEnvironmentStays) {
  const Variable gpus("GDAKIT_GPUS", "3,1");
  EXPECT_EQ(gdakit(gpu_job(1, {}, "echo $GDAKIT_GPUS")).output, "[0] 3,1\n");
}

TEST(RunGpus, AllAreThoseOfThisMachineOrAnError) {
  const Outcome job = gdakit(gpu_job(1, {"--gpus", "all"}, "echo $GDAKIT_GPUS"));
  if (job.status == 0) {
    EXPECT_THAT(job.output, testing::StartsWith("[0] 0"));
  } else {
    EXPECT_EQ(job.status, 1);
    EXPECT_THAT(job.errors, AllOf(HasSubstr("--gpus all: "), testing::ContainsRegex("CUDA|GPU")));
  }
}

TEST(RunGpus, WhatIsNoListIsBadUsage) {
  for (const char* text : {"x", "0,,1", "0,", "-1", "0 1", "1024"}) {
    const Outcome job = gdakit(gpu_job(1, {"--gpus=" + std::string(text)}, "true"));
    EXPECT_EQ(job.status, 2) << text;
    EXPECT_THAT(job.errors, HasSubstr("--gpus " + std::string(text))) << text;
  }
  EXPECT_EQ(gdakit(gpu_job(1, {"--mps", "maybe"}, "true")).status, 2);
}

TEST(RunGpus, PesTakeThoseOfTheHostWhereNobodySaysOthers) {
  GpuReport host;
  host.gpus.resize(2);
  host.gpus[1].ordinal = 1;
  Options options;
  const tools::GpusTaken all = tools::gpus_taken(options, host);
  EXPECT_EQ(tools::sharing_text(all.gpus, 3), "2 PEs share GPU 0");
  EXPECT_EQ(tools::sharing_text(all.gpus, 2), "");
  EXPECT_FALSE(all.certain) << "the program may have no kernels for GPUs";
  options.device = DeviceChoice::gpu;
  EXPECT_TRUE(tools::gpus_taken(options, host).certain);
  options.device = DeviceChoice::automatic;
  options.gpus = {1};
  EXPECT_EQ(tools::sharing_text(tools::gpus_taken(options, host).gpus, 3), "3 PEs share GPU 1");
  EXPECT_TRUE(tools::gpus_taken(options, host).certain);
  options.device = DeviceChoice::cpu;
  EXPECT_TRUE(tools::gpus_taken(options, host).gpus.empty());
}

TEST(RunMps, PesThatShareAGpuGetADaemonThatEndsWithTheJob) {
  const StandIn stand_in;
  const Outcome job = gdakit(gpu_job(2, {"--gpus", "0"}, kShowDaemon));
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.errors, "");
  ASSERT_EQ(lines_of(job.output).size(), 2u);
  const Daemon daemon = shown(lines_of(job.output).front());
  EXPECT_EQ(stand_in.calls(), "start " + daemon.directory + "\nquit " + daemon.directory + "\n");
  EXPECT_TRUE(ended_within(daemon.process, 1s));
  EXPECT_FALSE(std::filesystem::exists(daemon.directory));
}

TEST(RunMps, AJobThatFailsEndsItsDaemon) {
  const StandIn stand_in;
  const Outcome job =
      gdakit(gpu_job(2, {"--gpus", "0"}, std::string(kShowDaemon) + "; kill -9 $$"));
  EXPECT_EQ(job.status, 128 + 9);
  EXPECT_THAT(stand_in.calls(), HasSubstr("\nquit "));
  EXPECT_TRUE(ended_within(shown(lines_of(job.output).front()).process, 1s));
}

TEST(RunMps, ALauncherThatIsKilledLeavesNoDaemon) {
  const StandIn stand_in;
  Launched job(gpu_job(2, {"--gpus", "0"}, std::string(kShowDaemon) + "; exec sleep 1000"));
  const Daemon daemon = shown(job.line());
  ASSERT_GT(daemon.process, 1);
  job.kill(SIGKILL);
  job.wait();
  EXPECT_TRUE(ended_within(daemon.process, 5s));
  std::filesystem::remove_all(daemon.directory);
}

TEST(RunMps, IsStartedForPesThatShareAGpuOfTheEnvironment) {
  const StandIn stand_in;
  const Variable gpus("GDAKIT_GPUS", "0,0");
  EXPECT_EQ(gdakit(gpu_job(2, {}, "true")).errors, "");
  EXPECT_THAT(stand_in.calls(), AllOf(HasSubstr("start "), HasSubstr("quit ")));
}

TEST(RunMps, IsMissedByPesThatShareAGpuOfTheEnvironment) {
  const Variable gpus("GDAKIT_GPUS", "0");
  EXPECT_THAT(gdakit(gpu_job(3, {"--mps", "off"}, "true")).errors,
              HasSubstr("3 PEs share GPU 0 without MPS (--mps off): they take turns"));
  const Variable device("GDAKIT_DEVICE", "cpu");
  EXPECT_EQ(gdakit(gpu_job(3, {"--mps", "off"}, "true")).errors, "");
}

TEST(RunMps, IsNotStartedForPesWithAGpuEachOrWithoutGpus) {
  const StandIn stand_in;
  const Variable device("GDAKIT_DEVICE", "cpu");
  EXPECT_EQ(gdakit(gpu_job(1, {"--gpus", "0,0"}, "true")).status, 0);
  EXPECT_EQ(gdakit(gpu_job(2, {}, "true")).errors, "");
  EXPECT_EQ(stand_in.calls(), "");
}

TEST(RunMps, IsStartedForAnyJobThatAsksForIt) {
  const StandIn stand_in;
  EXPECT_EQ(gdakit(gpu_job(1, {"--mps", "on"}, "true")).status, 0);
  EXPECT_THAT(stand_in.calls(), AllOf(HasSubstr("start "), HasSubstr("quit ")));
}

TEST(RunMps, ADaemonThatRunsAlreadyIsUsed) {
  const StandIn stand_in;
  std::string folder = std::filesystem::temp_directory_path() / "gdakit-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/nvidia-cuda-mps-control.pid") << ::getpid();
  const Variable pipe("CUDA_MPS_PIPE_DIRECTORY", folder);
  const Outcome job = gdakit(gpu_job(2, {"--gpus", "0"}, "echo $CUDA_MPS_PIPE_DIRECTORY"));
  EXPECT_EQ(job.errors, "");
  EXPECT_THAT(lines_of(job.output), UnorderedElementsAre("[0] " + folder, "[1] " + folder));
  EXPECT_THAT(gdakit({"info"}).output, HasSubstr("a daemon runs"));
  EXPECT_EQ(stand_in.calls(), "");
  std::filesystem::remove_all(folder);
}

TEST(RunMps, PesDivideTheConnectionsOfTheirGpu) {
  if (connections_given()) GTEST_SKIP() << "the environment has CUDA_DEVICE_MAX_CONNECTIONS";
  const StandIn stand_in;
  const auto connections = [](int size, std::vector<std::string> options) {
    const Outcome job = gdakit(gpu_job(size, options, "echo $CUDA_DEVICE_MAX_CONNECTIONS"));
    return lines_of(job.output).front();
  };
  EXPECT_EQ(connections(1, {"--gpus", "0", "--mps", "on"}), "[0] 8");
  EXPECT_THAT(connections(3, {"--gpus", "0"}), testing::EndsWith("] 5"));
  EXPECT_THAT(connections(3, {"--gpus", "0,0,1"}), testing::EndsWith("] 8"));
  EXPECT_THAT(connections(20, {"--gpus", "0"}), testing::EndsWith("] 1"));
  EXPECT_THAT(connections(20, {"--gpus", "0", "--mps", "off"}), testing::EndsWith("] 8"));
  Launched given({"CUDA_DEVICE_MAX_CONNECTIONS=12", GDAKIT_COMMAND, "run", "-n", "1", "--mps", "on",
                  "printenv", "CUDA_DEVICE_MAX_CONNECTIONS"},
                 "", false, "env");
  EXPECT_EQ(given.wait().output, "[0] 12\n");
  // The library in a program that starts others has set it for its own PEs, and not the user.
  Launched inherited(
      {"CUDA_DEVICE_MAX_CONNECTIONS=32", "CUDA_DEVICE_MAX_CONNECTIONS_GDAKIT=32", GDAKIT_COMMAND,
       "run", "-n", "1", "--mps", "on", "printenv", "CUDA_DEVICE_MAX_CONNECTIONS"},
      "", false, "env");
  EXPECT_EQ(inherited.wait().output, "[0] 8\n");
}

TEST(Connections, AreSetForPesOfOneProcessUnlessADaemonServesIt) {
  if (connections_given()) GTEST_SKIP() << "the environment has CUDA_DEVICE_MAX_CONNECTIONS";
  const auto value = [] {
    return Launched({"CUDA_DEVICE_MAX_CONNECTIONS"}, "", false, "printenv").wait().output;
  };
  std::string folder = std::filesystem::temp_directory_path() / "gdakit-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const Variable pipe("CUDA_MPS_PIPE_DIRECTORY", folder);
  set_connections();
  EXPECT_EQ(value(), "32\n");
  EXPECT_FALSE(connections_given());
  std::ofstream(folder + "/nvidia-cuda-mps-control.pid") << ::getpid();
  set_connections();
  EXPECT_EQ(value(), "");
  std::filesystem::remove_all(folder);
}

TEST(RunMps, WithoutItTheJobIsToldWhatThatCosts) {
  const Variable path("PATH", "/nowhere", kPath);
  const Outcome job = gdakit(gpu_job(5, {"--gpus", "3,3,0"}, "true"));
  // A machine with GPUs knows whether it has number 3.
  if (job.errors.find("there is no GPU 3") != std::string::npos) GTEST_SKIP() << job.errors;
  EXPECT_EQ(job.status, 0);
  EXPECT_THAT(job.errors,
              AllOf(HasSubstr("4 PEs share GPU 3 without MPS (there is no nvidia-cuda-mps-control "
                              "on the PATH): they take turns"),
                    HasSubstr("2 to 5 ms on an H200")));
}

TEST(RunMps, AnyReasonWhyThereIsNoneIsTold) {
  EXPECT_THAT(gdakit(gpu_job(2, {"--gpus", "0", "--mps", "off"}, "true")).errors,
              HasSubstr("2 PEs share GPU 0 without MPS (--mps off)"));
  const StandIn fails("exit 3\n");
  const Outcome job = gdakit(gpu_job(2, {"--gpus", "0"}, "true"));
  EXPECT_EQ(job.status, 0);
  EXPECT_THAT(job.errors, HasSubstr("nvidia-cuda-mps-control -d ended with status 3"));
}

TEST(RunMps, AJobThatAsksForItFailsWithoutIt) {
  const Variable path("PATH", "/nowhere", kPath);
  const Outcome job = gdakit(gpu_job(2, {"--mps", "on"}, "echo ran"));
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.output, Not(HasSubstr("ran")));
  EXPECT_THAT(job.errors, HasSubstr("--mps on: there is no nvidia-cuda-mps-control on the PATH"));
}

}  // namespace
}  // namespace gdakit::testing_job
