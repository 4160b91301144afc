// Program: a litmus test of the NIC half, parsed. PTX says nothing of NICs, so every verdict is
// hand-made: it holds for a setting of the knobs, and the file says on which fact it rests.
//
//   NIC doorbell-carries-wqe                         name
//   "May the NIC fetch an old WQE ...?"              what it asks
//   fact "A doorbell is a posted write ..."          why the verdicts are what they are
//   { slots w0 w1; host heap y = 5; 1: cqe c0; }     words of 8 bytes by region, of PE 0 or another
//    P0@cta 0,gpu 0    | NIC0             ;          threads, and NICs: NIC n is PE n's, as is GPU
//    n st.weak w0, 1     | doorbell r0      ; fence.acq_rel.sys | dma.read r1, w0  ; st.mmio 0, 7
//    | dma.wait         ;
//   exists (NIC0:r0 = 7 /\ NIC0:r1 = 0)              what must or must not be seen
//   verdict default: forbidden
//   verdict gpu_scope_reaches_nic=yes: forbidden
//
// Threads execute what sim/litmus knows but branches and barriers, and
//   st.mmio n, v      stores to doorbell register n of the NIC of PE 0; `st.mmio NIC1 n, v` of PE 1
//   need r, v         ends here unless r holds v
// NICs execute, over the ports that simulated worlds use:
//   doorbell r        waits for a doorbell
//   dma.read r, x, n  reads n words from x on (1 if not given) into r and the registers after it
//   dma.wait          until all that has been read is there
//   dma.write x, v..  writes words from x on, as one write
//   dma.cqe x, v      writes a CQE of eight words v
//   dma.add r, x, v   and dma.swap r, x, v: atomics
//   packet.send NICn, v   and packet.wait r: to another NIC, and from any
//   need r, v
// Words of record regions have four bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/litmus/program.h"
#include "sim/world/knobs.h"
#include "sim/world/region.h"

namespace gdakit::sim::niclitmus {

enum class Action : std::uint8_t {
  instruction,  // of sim/litmus
  mmio,         // register `number` of `nic` := left
  need,         // end unless left == right
  doorbell,     // destination := the next doorbell
  read,         // `number` words from `location` on, to as many registers from destination on
  wait,
  write,  // values, from `location` on
  cqe,    // left, eight times
  add,
  swap,
  send,     // left, to `nic`
  receive,  // destination := the next packet
};

struct Step {
  Action action = Action::instruction;
  litmus::Instruction instruction;  // its operands serve the other actions, too
  std::uint32_t nic = 0;
  std::uint32_t number = 0;
  std::vector<std::uint32_t> destinations;  // of a read
  std::vector<litmus::Operand> values;      // of a write
};

// A thread or a NIC; its name, registers and, for a thread, its place are in Program::base.
struct Agent {
  bool is_nic = false;
  std::uint32_t pe = 0;
  std::vector<Step> steps;
};

// Where a location of Program::base lies.
struct Word {
  std::uint32_t pe = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 8;
};

struct Verdict {
  std::string setting;  // "default", "ampere cqe_bytes=any"
  Knobs knobs;
  bool allowed = false;
  bool race = false;  // some execution has a race; without, none may have one
};

struct Program {
  std::string name;
  std::string question;
  std::string fact;
  std::string text;
  litmus::Program base;  // names, registers, condition; its threads have no code
  std::vector<Agent> agents;
  std::vector<Word> words;  // of each location
  Layout layout;            // the same for all PEs
  std::uint64_t bytes_per_pe = 0;
  std::uint32_t pes = 1;
  std::vector<Verdict> verdicts;
};

}  // namespace gdakit::sim::niclitmus
