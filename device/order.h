// Every ordering construct of the protocol, by name.
//
// A type says what it orders, before what, for whom, how strong it is (kind, scope), and which
// scenario of the weak-memory simulator fails when it is left out:
//
//   gdakit explore put-quiet --without WqeBeforeDoorbellRecord
//
// Protocol code passes the type to the Machine: m.fence(order::X{}), or to the load, store or
// read-modify-write that carries the order. Beside these only the threads of a warp or a block that
// meet (sync_warp, sync_block, any_block) order what they did before against what they do after.
//
// The life of a WQE, with the orders in their places, where another thread holds the baton (one
// that claims it, publication.h, is the holder from before it writes its WQE):
//
//   poster                        holder of the baton               NIC
//   ------                        -------------------               ---
//   load completed   SlotFreeBeforeReuse
//   store WQE
//   xor ready bits   PublishReady
//                                 load ready bits
//                                 fence             ReadyBeforeRing
//                                 store posted
//                                 fence             WqeBeforeDoorbellRecord
//                                 store record                      may fetch from here on
//                                 fence             RecordBeforeDoorbell
//                                 store doorbell                    fetches, executes
//                                 xor ready word                    writes data, then the CQE
//   load CQE         CompletionBeforeUse
//   max completed    CompletionForOthers
//
// With a proxy, a host thread stands between the holder and the NIC, and, where it builds the WQEs
// itself, between the NIC and whoever polls:
//
//   holder                        proxy                             NIC
//   ------                        -----                             ---
//   store index  WqeBeforeProxyIndex
//                                 load index        ProxyIndexSeen
//                                 store record      ProxyWqeBeforeRecord
//                                 fence             ProxyRecordBeforeDoorbell
//                                 store doorbell                    fetches, executes
//                                 load CQE          ProxyCompletionSeen
//                                 store its copy    ProxyCompletionPassedOn
#pragma once

#include <string_view>

#include "device/machine.h"

namespace gdakit::order {

// Atomic, and orders nothing.
template <Scope kScope>
struct Relaxed {
  static constexpr Kind kind = Kind::relaxed;
  static constexpr Scope scope = kScope;
};
using RelaxedGpu = Relaxed<Scope::gpu>;
using RelaxedSystem = Relaxed<Scope::system>;
using RelaxedNic = Relaxed<Scope::nic>;

// For users' own kernels, which synchronise through words of their own. The protocol does not use
// them.
template <Scope kScope>
struct Acquire {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = kScope;
};
template <Scope kScope>
struct Release {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = kScope;
};
template <Scope kScope>
struct AcqRel {
  static constexpr Kind kind = Kind::acq_rel;
  static constexpr Scope scope = kScope;
};

// Orders   the WQE bytes of the poster and of its warp, which met at a barrier before, and the
//          ready bits of its other slots,
// before   the ready bit of its first slot,
// for      the holder of the baton, who rings for these slots.
struct PublishReady {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "two-blocks";
};

// Orders   the ready bits and the mark of the baton that the holder has read,
// before   what it reads of further ready words, which are at least as new; and before its ring, so
//          that the WQE bytes of others, and the last holder's record, are behind its own fence,
// for      the holder of the baton.
struct ReadyBeforeRing {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "ready-words";
};

// Orders   the holder's record and doorbell, and the WQE bytes of a batch that stays open,
// before   those of the next holder, so that neither record nor doorbell ever goes back: of two
//          doorbells the NIC may see the later one alone,
// for      the poster that finds the baton at its slot.
struct PassBaton {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "full-queue";
};

// Orders   the WQE bytes of every slot below the new producer index, the payload they name, the
//          taking up of the baton, and QueueState::posted,
// before   the doorbell record that announces that index,
// for      the NIC, which may fetch WQEs on reading the record without waiting for a doorbell.
struct WqeBeforeDoorbellRecord {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::nic;
  static constexpr std::string_view breaks = "put-quiet";
};

// Orders   the WQE bytes of every slot below the new producer index, the payload they name, the
//          taking up of the baton, and QueueState::posted,
// before   the doorbell that announces that index, where nobody keeps a record,
// for      the NIC, which fetches WQEs when the doorbell comes.
struct WqeBeforeDoorbell {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::nic;
  static constexpr std::string_view breaks = "recordless";
};

// Orders   the doorbell record,
// before   the doorbell,
// for      the NIC, which reads the record when the doorbell alone does not tell enough.
struct RecordBeforeDoorbell {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::nic;
  static constexpr std::string_view breaks = "put-quiet";
};

// Orders   the WQEs or commands below the new producer index, their payload, and
//          QueueState::posted,
// before   the producer index that the proxy watches,
// for      the host thread that writes record and doorbell.
struct WqeBeforeProxyIndex {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "proxy";
};

// Orders   the producer index,
// before   reading the commands below it, and the ring for them,
// for      the proxy's host thread, through which the NIC gets to know what the GPU wrote.
struct ProxyIndexSeen {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "proxy";
};

// Orders   the WQE bytes below the new producer index, whoever wrote them, and their payload,
// before   the doorbell record, written by the proxy,
// for      the NIC, which may fetch WQEs on reading the record.
struct ProxyWqeBeforeRecord {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "proxy";
};

// Orders   the doorbell record,
// before   the doorbell, written by the proxy,
// for      the NIC, which reads the record when the doorbell alone does not tell enough.
struct ProxyRecordBeforeDoorbell {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "proxy";
};

// Orders   the CQE, and what the NIC wrote and read before it,
// before   the completion that the proxy passes on,
// for      the proxy's host thread, through which the GPU gets to know of it.
struct ProxyCompletionSeen {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "commands-get";
};

// Orders   what a CQE says of an error, and all that the CQE tells to have happened,
// before   the words of it that say so, as the proxy passes them on,
// for      the thread that polls.
struct ProxyCompletionPassedOn {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "commands-get";
};

// Orders   the CQE,
// before   reading what the operation fetched, reusing its source, and reusing its slot,
// for      the thread that polls.
struct CompletionBeforeUse {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::nic;
  static constexpr std::string_view breaks = "put-source";
};

// Orders   the CQE that one thread saw,
// before   the cached completion index,
// for      threads that look at the cached index only.
struct CompletionForOthers {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "full-queue";
};

// Orders   the cached completion index,
// before   new WQE bytes in a slot that it frees, and any use of data that it covers,
// for      the thread that reserved the slot or waits for the data.
struct SlotFreeBeforeReuse {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "full-queue";
};

// Orders   the DUMP that made visible what a NIC wrote here, or the READ that did so there,
// before   the index up to which it did,
// for      threads that look at that index only.
struct FlushForOthers {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "get-shared";
};

// Orders   the index up to which what a queue wrote is visible here, or there,
// before   the use of what came here, and what tells others of what went there,
// for      the thread that would otherwise post a DUMP or a READ itself.
struct FlushSeen {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "get-shared";
};

// Orders   the turn of a fetch slot,
// before   the operation that lets the NIC write the slot,
// for      the thread that takes the slot.
struct FetchSlotTaken {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "fetch-slots";
};

// Orders   the reading of a fetch slot,
// before   its next turn,
// for      the thread that takes the slot next.
struct FetchSlotGivenBack {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "fetch-slots";
};

// Orders   a word of the symmetric heap that another PE wrote,
// before   reading the data that was put before it,
// for      the thread that waits for the word.
struct SignalBeforeData {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "put-signal";
};

// Orders   what a thread stored into the memory of direct peers (device/direct.h), and what it has
//          seen of other threads' stores,
// before   the store or atomic that tells another PE of it: a signal, a collective's count, a lock
//          handed over, or whatever follows fence,
// for      the thread of that PE which sees the latter.
struct DirectBeforeLater {
  static constexpr Kind kind = Kind::acq_rel;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "direct-put-signal";
};

// Orders   the same,
// before   all that the thread does later, what it reads included,
// for      every PE: behind quiet a put is complete, so that of two PEs that each put, call quiet
//          and then get what the other one puts, one sees it.
struct DirectComplete {
  static constexpr Kind kind = Kind::sc;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "direct-quiet-get";
};

// Orders   a word that was fetched from the memory of a direct peer,
// before   what the thread reads next, as the completion of a fetch through the NIC does,
// for      the thread that fetched it.
struct DirectFetched {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "direct-lock";
};

// Orders   what a thread did with a lock, and to its own words, while its ticket had the turn,
// before   the next ticket's turn,
// for      the next thread of the same PE. Between PEs, completions and the hand-over do it.
struct LockPassed {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "lock-local";
};

// Orders   the turn of a ticket,
// before   what its thread reads and writes of the lock's words, and of all that the lock guards,
// for      the thread that took the ticket.
struct LockTaken {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::gpu;
  static constexpr std::string_view breaks = "lock-local";
};

// Orders   a receive WQE, and what the thread has read before of its buffer, of its slot, and of
// the
//          CQE whose place its own one takes,
// before   the doorbell record that gives the WQE to the NIC,
// for      the NIC, which reads the WQE and writes buffer and CQE when a message comes.
struct ReceiveBeforeRecord {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::nic;
  static constexpr std::string_view breaks = "receive";
};

// Orders   the CQE of a message,
// before   reading what else the CQE says, and the bytes of this and of all earlier messages of the
//          channel; and before the next use of the buffer and of its slot,
// for      the thread that receives.
struct MessageBeforeData {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::nic;
  static constexpr std::string_view breaks = "receive";
};

// Orders   the fields of a stall or fault report,
// before   the word that says that it is complete,
// for      the host, which may read it while the kernel still runs.
struct ReportBeforeState {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::system;
  static constexpr std::string_view breaks = "watchdog";
};

}  // namespace gdakit::order
