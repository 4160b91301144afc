// Command: what a thread asks of the NIC where a host thread builds the WQEs (Handler::commands).
//
// A queue of that handler has a ring of commands in the place of its WQEs. The command of an
// operation lies in the slot whose number its WQE will have, and takes the slots that the WQE will
// take, so that indices, room, tickets and completions mean the same with every handler. It names
// its number, as a WQE does: one of an earlier lap is not taken for a new one.
//
//   segment   0      1          2       4         8          12           15
//   0       | kind | fm_ce_se | number | bytes   | remote                  |
//   1       | rkey            | lkey             | local                   |
//   2       | operand                            | compare                 |
//   3       | unused                                                       |
//
// Addresses are resolved and keys looked up before: the device does that anyway, to cut a transfer
// at chunk borders and to refuse what is not registered in the very call that names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/bits.h"
#include "core/base/endian.h"
#include "core/format/doorbell.h"
#include "device/views.h"

namespace gdakit {

enum class CommandKind : std::uint8_t {
  none,         // no thread has written here
  write,        // `bytes` from `local` to `remote`
  read,         // `bytes` from `remote` to `local`
  write_value,  // the lowest `bytes` bytes of `local` itself to `remote`
  nop,
  dump,    // reads a word of the queue's sink and throws it away
  atomic,  // and those that follow, one for each atomics::Op: an operation on the word of
           // `bytes` at `remote`, whose old value goes to `local`
};

struct alignas(16) Command {
  CommandKind kind = CommandKind::none;
  std::uint8_t fm_ce_se = 0;  // as the WQE has it: what is waited for, what a completion makes
  std::uint16_t number = 0;   // of its slot, cut as in a WQE
  std::uint32_t bytes = 0;
  std::uint64_t remote = 0;
  Be32 rkey{0};
  Be32 lkey{0};
  std::uint64_t local = 0;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint64_t unused[2] = {};
};
static_assert(sizeof(Command) == format::kWqebbBytes && std::is_trivially_copyable_v<Command>);
static_assert(offsetof(Command, number) == 2 && offsetof(Command, bytes) == 4);
static_assert(offsetof(Command, remote) == 8 && offsetof(Command, rkey) == 16);
static_assert(offsetof(Command, local) == 24 && offsetof(Command, operand) == 32);

// How many of its segments a command of a kind needs.
GDAKIT_HOST_DEVICE constexpr std::uint32_t segments_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::none:
    case CommandKind::nop:
    case CommandKind::dump: return 1;
    case CommandKind::write:
    case CommandKind::read:
    case CommandKind::write_value: return 2;
    default: return 3;
  }
}

// Stores a command, which needs `kSegments` segments, in the slot of `index`.
template <std::uint32_t kSegments, class M>
GDAKIT_DEVICE void store_command(M& m, const QueueView& queue, std::uint64_t index,
                                 Command command) {
  command.number = format::wire_index(index);
  const auto words = bit_cast<format::Wqebb>(command);
  format::Segment* const at = queue.slots + (index & (queue.depth - 1)) * format::kSegmentsPerWqebb;
  GDAKIT_UNROLL
  for (std::uint32_t i = 0; i < kSegments; ++i) m.store_weak(&at[i], words.segments[i]);
}

}  // namespace gdakit
