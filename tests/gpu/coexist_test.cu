// What ordinary CUDA programs do while a kernel waits for the NIC. The soft NIC shares GPU, driver
// and process with them: none of it may stop the kernel for ever, nor the program.
#include <functional>

#include "tests/gpu/errand.cuh"

namespace gdakit {
namespace {

using test::cuda_ok;
using test::Errands;
using test::expect_job;
using test::job_options;
using test::mismatch;

constexpr LaunchShape kSome{8, 64};

std::uint32_t some_rounds() { return test::sized(200u, 5u); }

// Long enough that the host does its part meanwhile.
Result<void> while_an_errand_runs(Context& c, const std::function<Result<void>()>& act) {
  auto errands = Errands::make(c, kSome, some_rounds(), false);
  if (!errands) return errands.error();
  if (auto launched = errands->launch(c.stream()); !launched) return launched;
  if (auto done = act(); !done) return done;
  if (auto ended = c.synchronize(c.stream()); !ended) return ended;
  return errands->verify();
}

TEST(Coexist, DeviceSynchronizeReturns) {
  expect_job(2, job_options(), [](Context& c) {
    return while_an_errand_runs(
        c, [] { return cuda_ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); });
  });
}

TEST(Coexist, MemoryAndStreamsAreMadeMeanwhile) {
  expect_job(2, job_options(), [](Context& c) {
    std::vector<void*> device;
    std::vector<void*> pinned;
    auto done = while_an_errand_runs(c, [&]() -> Result<void> {
      for (int i = 0; i < 20; ++i) {
        void* memory = nullptr;
        if (auto ok = cuda_ok(cudaMalloc(&memory, 4 << 20), "cudaMalloc"); !ok) return ok;
        device.push_back(memory);
        if (auto ok = cuda_ok(cudaMallocHost(&memory, 1 << 20), "cudaMallocHost"); !ok) return ok;
        pinned.push_back(memory);
        if (auto streams = test::Streams::make(c, 2); !streams) return streams.error();
        cudaEvent_t event = nullptr;
        if (auto ok = cuda_ok(cudaEventCreate(&event), "cudaEventCreate"); !ok) return ok;
        cudaEventDestroy(event);
      }
      return {};
    });
    for (void* memory : device) cudaFree(memory);
    for (void* memory : pinned) cudaFreeHost(memory);
    return done;
  });
}

// The same behind the errand itself, in CUDA's default stream, as programs often have it: nobody
// else can copy or launch in the program's context until the errand ends.
Result<void> behind_an_errand(Context& c, const std::function<Result<void>()>& act) {
  auto errands = Errands::make(c, kSome, some_rounds(), false);
  if (!errands) return errands.error();
  if (auto launched = errands->launch(nullptr); !launched) return launched;
  if (auto done = act(); !done) return done;
  if (auto ended = c.synchronize(nullptr); !ended) return ended;
  return errands->verify();
}

TEST(Coexist, ACopyThatWaitsForTheKernelStopsNothing) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    void* memory = nullptr;
    if (auto ok = cuda_ok(cudaMalloc(&memory, 64), "cudaMalloc"); !ok) return ok;
    auto done = behind_an_errand(c, [&] {
      char back[64];
      return cuda_ok(cudaMemcpy(back, memory, sizeof back, cudaMemcpyDeviceToHost), "cudaMemcpy");
    });
    cudaFree(memory);
    return done;
  });
}

TEST(Coexist, MemoryIsFreedMeanwhile) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    void* memory = nullptr;
    void* pinned = nullptr;
    if (auto ok = cuda_ok(cudaMalloc(&memory, 1 << 20), "cudaMalloc"); !ok) return ok;
    if (auto ok = cuda_ok(cudaMallocHost(&pinned, 1 << 20), "cudaMallocHost"); !ok) return ok;
    return behind_an_errand(c, [&]() -> Result<void> {
      if (auto ok = cuda_ok(cudaFree(memory), "cudaFree"); !ok) return ok;
      return cuda_ok(cudaFreeHost(pinned), "cudaFreeHost");
    });
  });
}

// Copies a megabyte to the GPU and back, a number of times.
Result<void> copy_there_and_back(cudaStream_t stream, void* memory) {
  const std::vector<char> there(1 << 20, 42);
  std::vector<char> back(there.size());
  for (int i = 0; i < 50; ++i) {
    cudaMemcpyAsync(memory, there.data(), there.size(), cudaMemcpyHostToDevice, stream);
    cudaMemcpyAsync(back.data(), memory, back.size(), cudaMemcpyDeviceToHost, stream);
    if (auto ok = cuda_ok(cudaStreamSynchronize(stream), "copies"); !ok) return ok;
  }
  return back == there ? Result<void>() : mismatch("the user's copy brought other bytes");
}

TEST(Coexist, CopiesOfTheUserGoOnMeanwhile) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto streams = test::Streams::make(c, 1);
    if (!streams) return streams.error();
    void* memory = nullptr;
    if (auto ok = cuda_ok(cudaMalloc(&memory, 1 << 20), "cudaMalloc"); !ok) return ok;
    auto done =
        while_an_errand_runs(c, [&] { return copy_there_and_back(streams->at(0), memory); });
    cudaFree(memory);
    return done;
  });
}

// The user's own streams: blocking ones wait for the default stream and it for them.
TEST(Coexist, OrdinaryKernelsRunOnTheUsersStreams) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto errands = Errands::make(c, kSome, test::sized(20u, 2u), false);
    if (!errands) return errands.error();
    cudaStream_t blocking = nullptr;
    cudaStream_t urgent = nullptr;
    if (auto ok = cuda_ok(cudaStreamCreate(&blocking), "cudaStreamCreate"); !ok) return ok;
    const cudaError_t made = cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -5);
    if (auto ok = cuda_ok(made, "cudaStreamCreateWithPriority"); !ok) return ok;
    for (const cudaStream_t stream : {cudaStream_t{nullptr}, blocking, urgent, c.stream()}) {
      if (auto ran = errands->launch(stream); !ran) return ran;
      if (auto ended = c.synchronize(stream); !ended) return ended;
    }
    cudaStreamDestroy(blocking);
    cudaStreamDestroy(urgent);
    return errands->verify();
  });
}

// As many blocks as there are SMs, each with the most threads and all the shared memory that a
// block can have; none ends before all have done. No room is left for anybody's helper kernel.
Result<void> fill_the_gpu(Context& c, Errands& errands) {
  int shared_bytes = 0;
  const cudaError_t asked = cudaDeviceGetAttribute(
      &shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, c.gpu()->ordinal());
  if (auto ok = cuda_ok(asked, "cudaDeviceGetAttribute"); !ok) return ok;
  shared_bytes -= 1024;  // less than another block would need, and enough for what is static
  const cudaError_t allowed = cudaFuncSetAttribute(
      test::run_errand, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (auto ok = cuda_ok(allowed, "cudaFuncSetAttribute"); !ok) return ok;
  int blocks_per_sm = 0;
  const cudaError_t counted = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks_per_sm, test::run_errand, 1024, static_cast<std::size_t>(shared_bytes));
  if (auto ok = cuda_ok(counted, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"); !ok) return ok;
  if (auto ok = test::same(blocks_per_sm, 1, "blocks that an SM takes"); !ok) return ok;
  if (auto ok = errands.launch(c.stream(), static_cast<std::size_t>(shared_bytes)); !ok) return ok;
  return c.synchronize(c.stream());
}

TEST(Coexist, AKernelMayUseTheWholeGpu) {
  for (const int n_pes : {1, 2}) {
    expect_job(n_pes, job_options(), [](Context& c) -> Result<void> {
      int sms = 0;
      const cudaError_t asked =
          cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, c.gpu()->ordinal());
      if (auto ok = cuda_ok(asked, "cudaDeviceGetAttribute"); !ok) return ok;
      const LaunchShape shape{static_cast<std::uint32_t>(sms), 1024};
      auto errands = Errands::make(c, shape, test::sized(5u, 1u), true);
      if (!errands) return errands.error();
      if (auto met = c.barrier(); !met) return met;
      // PE 0 fills the GPU; another PE only has its memory written to.
      if (c.my_pe() == 0) {
        if (auto ran = fill_the_gpu(c, *errands); !ran) return ran;
      }
      const bool left_is_0 = c.my_pe() == 1 % c.n_pes();
      return errands->verify(left_is_0 ? 1 : 0);
    });
  }
}

// As a functor for Context::launch.
struct ErrandKernel {
  test::Errand errand;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    errand.run(pe);
  }
};

TEST(Coexist, BlocksOfACooperativeLaunchMeetBetweenPuts) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    const LaunchShape shape{32, 128, true};
    auto errands = Errands::make(c, shape, test::sized(50u, 3u), true);
    if (!errands) return errands.error();
    if (auto ran = c.launch(ErrandKernel{errands->errand()}, shape); !ran) return ran;
    errands->count_launches(1);
    return errands->verify();
  });
}

// Kernels that no test has launched before: with CUDA_MODULE_LOADING=LAZY they are loaded now.
struct FirstTime {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(word, 77, pe.my_pe());
    pe.quiet();
  }
};

__global__ void never_launched_before(std::uint64_t* word) { *word = 78; }

TEST(Coexist, ModulesAreLoadedMeanwhile) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    auto streams = test::Streams::make(c, 2);
    if (!words || !streams) return mismatch("set up");
    auto done = while_an_errand_runs(c, [&]() -> Result<void> {
      if (auto ran = c.launch_on(streams->at(0), FirstTime{*words}, {1, 1}); !ran) return ran;
      never_launched_before<<<1, 1, 0, streams->at(1)>>>(*words + 1);
      if (auto ran = cuda_ok(cudaGetLastError(), "first launch of a kernel"); !ran) return ran;
      if (auto ended = c.synchronize(streams->at(0)); !ended) return ended;
      return c.synchronize(streams->at(1));
    });
    if (!done) return done;
    return test::all_are(c, *words, 2, "word", [](std::size_t i) { return 77 + i; });
  });
}

// A graph keeps the DeviceContext that it was captured with.
TEST(Coexist, AGraphIsReplayedAHundredTimes) {
  const std::uint64_t replays = test::sized(100u, 5u);
  expect_job(2, job_options(), [replays](Context& c) -> Result<void> {
    auto errands = Errands::make(c, kSome, 2, false);
    if (!errands) return errands.error();
    const cudaStream_t stream = c.stream();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    // While any stream is captured in this mode, CUDA refuses some calls of every thread.
    if (auto met = c.barrier(); !met) return met;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    const auto launched = errands->launch(stream);  // not run: only put down in the graph
    const cudaError_t captured = cudaStreamEndCapture(stream, &graph);
    if (auto met = c.barrier(); !met) return met;
    if (!launched) return launched;
    if (auto ok = cuda_ok(captured, "cudaStreamEndCapture"); !ok) return ok;
    if (auto ok = cuda_ok(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate"); !ok) {
      return ok;
    }
    for (std::uint64_t i = 0; i < replays; ++i) {
      if (auto ok = cuda_ok(cudaGraphLaunch(replay, stream), "cudaGraphLaunch"); !ok) return ok;
    }
    if (auto ended = c.synchronize(stream); !ended) return ended;
    errands->count_launches(replays - 1);
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
    return errands->verify();
  });
}

}  // namespace
}  // namespace gdakit
