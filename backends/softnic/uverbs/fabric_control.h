// How a running NIC of a fabric is asked for what it does, and told what to do: by the socket under
// whose name it is listed (fabric.h), from any process of the same user.
//
//   ask(member, "counters")  --request-->  FabricControl --> answer("counters")
//                            <--answer---
//
// A request is one message of at most kMostRequestBytes; an answer is "+" or "-", what was asked
// for or a sentence that says why not, in as many messages as it takes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "backends/softnic/uverbs/fabric.h"
#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

inline constexpr std::size_t kMostRequestBytes = 4096;

// Answers until it ends, on a thread of its own, one request at a time. Other users than this one
// and root get no answer.
class FabricControl {
 public:
  using Answer = std::function<Result<std::string>(const std::string& request)>;

  // `socket`: Membership::listed.
  FabricControl(KeptFile socket, Answer answer);
  ~FabricControl();
  FabricControl(const FabricControl&) = delete;
  FabricControl& operator=(const FabricControl&) = delete;

 private:
  void run() const;
  void serve(const KeptFile& client) const;

  const KeptFile socket_;
  const Answer answer_;
  std::thread thread_;
};

// A connection to a member's socket, on which no call waits longer than two seconds. Errors: it is
// gone, has not taken the connection by then, or is not who it says.
Result<UniqueFileDescriptor> connect_to(const Member& member);

// Errors: the member is gone, or has not answered for two seconds, as one that is stopped does not;
// or what it refuses.
Result<std::string> ask(const Member& member, const std::string& request);

}  // namespace gdakit::softnic::uverbs
