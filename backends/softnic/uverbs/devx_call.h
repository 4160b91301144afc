// One firmware command of a client's (DEVX), from its call to the answer.
//
// A command that the firmware refuses is EREMOTEIO, and the client has its answer with status and
// syndrome; what the kernel does not let through is EINVAL.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/softnic/uverbs/attributes.h"
#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/devx_mailboxes.h"

namespace gdakit::softnic::uverbs {

class DevxCall {
 public:
  // From this attribute, as the kernel hands it on: with the context's uid, and umems named as
  // such. EINVAL if the context has no DEVX.
  int read(const Context& context, const Attributes& call, std::uint16_t id);

  // Whether it is for the object whose handle the call has. ENOENT if there is none.
  using Names = std::optional<DevxName> (*)(std::span<const std::uint8_t> in);
  int check_object(const Context& context, const Attributes& call, std::uint16_t handle_id,
                   Names names) const;

  // With an answer of so many bytes. EREMOTEIO: refused.
  int execute(Context& context, std::size_t out_bytes);
  // Gives the client the answer. Returns `error`, or why it cannot be given.
  int give_answer(Attributes& call, std::uint16_t out_id, int error) const;
  // Both: the client gets the answer of a refused command, too.
  int answer(Context& context, Attributes& call, std::uint16_t out_id);

  std::uint64_t opcode() const;
  std::span<const std::uint8_t> in() const { return in_; }
  std::span<const std::uint8_t> out() const { return out_; }

 private:
  std::vector<std::uint8_t> in_, out_;
};

// The object of a handle. ENOENT if it is none that commands name.
int read_devx_name(const Context& context, const Attributes& call, std::uint16_t handle_id,
                   DevxName& to);

}  // namespace gdakit::softnic::uverbs
