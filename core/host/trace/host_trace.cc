#include "core/host/trace/host_trace.h"

#include <chrono>
#include <string>
#include <utility>

#include "core/base/library_thread.h"
#include "core/base/wait_clock.h"

namespace gdakit {
namespace {

constexpr std::chrono::seconds kBetweenSigns{1};

TraceRecord record_of(TraceKind kind, std::uint64_t index, std::uint64_t value) {
  TraceRecord record;
  record.kind = kind;
  record.time_ns = steady_ns();
  record.index = index;
  record.value = value;
  return record;
}

// The last name of "Outer<int>::Kernel<T>": it says more than the scopes before it, and than the
// arguments.
std::string_view own_name(std::string_view name) {
  std::size_t begin = 0, end = name.size();
  int depth = 0;  // in arguments
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char here = name[at];
    if (depth == 0 && name.substr(at, 2) == "::") {
      begin = ++at + 1;
      end = name.size();
    } else if (here == '<' || here == '(') {
      if (depth++ == 0 && here == '<') end = at;
    } else if ((here == '>' || here == ')') && depth > 0) {
      --depth;
    }
  }
  return begin < end ? name.substr(begin, end - begin) : name;
}

// A lambda has no name but its function's.
std::string short_name(std::string_view name) {
  const std::size_t lambda = name.find("::<lambda");
  if (lambda == std::string_view::npos) return std::string(own_name(name));
  return "lambda of " + std::string(own_name(name.substr(0, lambda)));
}

}  // namespace

Result<std::unique_ptr<HostTrace>> HostTrace::create(const std::string& directory, int pe,
                                                     Log log) {
  auto file = TraceFile::create(directory, pe, "host", log);
  if (!file) return file.error();
  return std::unique_ptr<HostTrace>(new HostTrace(std::move(*file)));
}

HostTrace::HostTrace(std::unique_ptr<TraceFile> file) : file_(std::move(file)) {
  thread_ = start_library_thread([this] { run(); });
}

HostTrace::~HostTrace() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void HostTrace::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenSigns, [this] { return stopping_; })) {
    file_->add(record_of(TraceKind::alive, 0, 0));
  }
}

void HostTrace::add(const TraceRecord& record) {
  const std::lock_guard lock(mutex_);
  file_->add(record);
}

std::uint64_t HostTrace::begin_kernel(std::string_view name, std::uint32_t blocks,
                                      std::uint32_t threads) {
  TraceRecord record;
  record.kind = TraceKind::kernel_begin;
  record.time_ns = steady_ns();
  record.index = blocks;
  record.size = threads;
  record.set_name(short_name(name));
  const std::lock_guard lock(mutex_);
  record.value = kernels_++;
  file_->add(record);
  return record.value;
}

void HostTrace::end_kernel(std::uint64_t kernel) {
  add(record_of(TraceKind::kernel_end, 0, kernel));
}

void HostTrace::begin_block(std::uint64_t kernel, std::uint32_t block) {
  add(record_of(TraceKind::block_begin, block, kernel));
}

void HostTrace::end_block(std::uint64_t kernel, std::uint32_t block) {
  add(record_of(TraceKind::block_end, block, kernel));
}

void HostTrace::name_queue(std::uint32_t queue_pair, int peer, std::uint32_t index) {
  TraceRecord record = record_of(TraceKind::queue_name, index, 0);
  record.queue = queue_pair;
  record.of.peer = peer;
  add(record);
}

std::uint64_t KernelSpan::begin(HostTrace* trace, std::string_view name, std::uint32_t blocks,
                                std::uint32_t threads) {
  return trace->begin_kernel(name, blocks, threads);
}

void KernelSpan::end() const { trace_->end_kernel(number_); }

void KernelSpan::begin_block(std::uint32_t block) const { trace_->begin_block(number_, block); }

void KernelSpan::end_block(std::uint32_t block) const { trace_->end_block(number_, block); }

}  // namespace gdakit
