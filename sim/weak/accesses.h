// The words of the weak-memory model: agents and where they run, accesses and how strong they are.
#pragma once

#include <cstdint>

#include "device/machine.h"

namespace gdakit::sim::weak {

// Whoever touches memory: a GPU thread, a host thread, a NIC.
using AgentId = std::uint16_t;
inline constexpr std::uint32_t kMaxAgents = 512;

// A byte of the model's own address space, which begins at 0.
using Address = std::uint64_t;

// Where an agent runs: agents with the same number share that scope. Two agents of one block are of
// one GPU. Host threads and NICs have blocks and GPUs of their own; a NIC that a GPU's gpu-scope
// release reaches has that GPU's number.
struct Place {
  std::uint32_t block = 0;
  std::uint32_t gpu = 0;
  bool device = false;  // a NIC: its accesses need not have the size of those that they meet
};

// How strong an access or a fence is. weak: a plain access, which may race. sc: fences only.
enum class Sem : std::uint8_t { weak, relaxed, acquire, release, acq_rel, sc };

constexpr bool is_strong(Sem sem) { return sem != Sem::weak; }
constexpr bool acquires(Sem sem) {
  return sem == Sem::acquire || sem == Sem::acq_rel || sem == Sem::sc;
}
constexpr bool releases(Sem sem) {
  return sem == Sem::release || sem == Sem::acq_rel || sem == Sem::sc;
}

// The scopes of the model: Scope::nic is resolved before an access gets here.
constexpr bool includes(const Place& from, Scope scope, const Place& to) {
  switch (scope) {
    case Scope::block: return from.block == to.block;
    case Scope::gpu: return from.gpu == to.gpu;
    default: return true;
  }
}

// Where in the source an access stands, and under which name of device/order.h. Strings live for
// ever.
struct Site {
  const char* name = "";  // "WqeBeforeDoorbellRecord"; "" for an unnamed one
  const char* file = "";
  std::uint32_t line = 0;
  bool of_protocol = false;  // in gdakit's own device/
};

// What kind of thing lies at an address.
struct PlaceFacts {
  const char* part = "";  // "WQE", "CQE", "data"
  bool of_user = false;   // an object that the user has named
};

inline constexpr std::uint32_t kAnyGpu = ~std::uint32_t{0};

struct Access {
  Sem sem = Sem::weak;
  Scope scope = Scope::system;  // of a strong access
  const Site* site = nullptr;   // for traces only
  // A release that reaches the agents of one GPU only: a NIC's writes that are
  // in order for the GPU that owns the memory.
  std::uint32_t reach_gpu = kAnyGpu;
  // A read-modify-write whose result nobody uses (PTX: red): it is no acquire pattern.
  bool no_result = false;
  // Left out of race detection: a read whose value is thrown away.
  bool speculative = false;
  // Left out of traces: the judge's own looks at what an execution has left behind.
  bool untraced = false;
};

// What a read-modify-write does: apply(update, old, &fresh) computes the new value, or returns
// false and nothing is written.
struct Update {
  bool (*apply)(const Update& update, std::uint64_t old, std::uint64_t* fresh) = nullptr;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint64_t mask = 0;
  std::uint64_t compare_mask = 0;
};

}  // namespace gdakit::sim::weak
