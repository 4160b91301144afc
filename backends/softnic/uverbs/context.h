// An open device: what the kernel keeps for a client's open file of /dev/infiniband/uverbs<n>.
//
//   int error = context.call(header);   // for ioctl(file, RDMA_VERBS_IOCTL, header)
//
// Calls may come from any thread; one is at work at a time. At its end all objects go that are
// left.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "backends/softnic/uverbs/attributes.h"
#include "backends/softnic/uverbs/device.h"
#include "backends/softnic/uverbs/objects.h"

namespace gdakit::softnic::uverbs {

class Context {
 public:
  explicit Context(Device& device) : device_(device) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  // 0, or an errno value; the answers stand in the client's memory then. `header` is the address of
  // an ib_uverbs_ioctl_hdr.
  int call(std::uint64_t header);

  Device& device() { return device_; }
  Nic& nic() { return device_.nic(); }
  Handles& handles() { return handles_; }
  const Handles& handles() const { return handles_; }

  // For GET_CONTEXT: until then no other call succeeds. ENOMEM: there are too many contexts;
  // EAGAIN: as many as the control group may have.
  int begin(bool with_devx);
  bool begun() const { return uid_ != kNicUid; }
  // Whether the client may give firmware commands, as it has said it would.
  bool has_devx() const { return has_devx_; }
  // Whose its objects are.
  Uid uid() const { return uid_; }

  // Files that tell the client of something: `file` is its own descriptor, which it closes without
  // a word. Those that it has closed and that no queue tells of events go when others come.
  enum class ChannelOf : std::uint8_t { completions, devx_events, devx_answers };
  void add_channel(ChannelOf what, int file, std::shared_ptr<EventPipe> pipe);
  void forget_closed_channels();
  // By any descriptor that the client has of it. Null: it is of no such channel.
  std::shared_ptr<EventPipe> channel(ChannelOf what, int file) const;
  // Where errors are told; null before the client has asked for it.
  const std::shared_ptr<EventPipe>& errors() const { return errors_; }
  void set_errors(std::shared_ptr<EventPipe> pipe) { errors_ = std::move(pipe); }

 private:
  struct Channel {
    ChannelOf what = ChannelOf::completions;
    int file = -1;
    std::shared_ptr<EventPipe> pipe;
  };

  // Whether an object is gone by it.
  bool end_some();

  Device& device_;
  std::mutex mutex_;
  Handles handles_;
  // By the pipe's identity.
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::size_t most_channels_ = 16;  // when to look for those that may go
  std::shared_ptr<EventPipe> errors_;
  Uid uid_ = kNicUid;
  bool has_devx_ = false;
};

// A refusal of the NIC as the kernel would return it.
int errno_of(const Error& error);
int errno_of(const Result<void>& result);

}  // namespace gdakit::softnic::uverbs
