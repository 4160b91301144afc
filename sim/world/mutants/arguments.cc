#include "sim/world/mutants/mutants.h"

namespace gdakit::sim {

namespace {

constexpr const char* kForAReport =
    "The word is for a report, which says what the thread has seen; that the channel is broken is "
    "looked for elsewhere.";

constexpr const char* kBehindTheFence =
    "The word is read by this PE's next ticket, behind LockPassed, and written by other PEs only "
    "after they were told that they may: a fence of the post that tells them follows the swapped "
    "stores, too.";

constexpr const char* kHostTells =
    "The host tells of lost and stopped PEs; in the simulation a thread of the same GPU does.";

constexpr const char* kMetSince =
    "The group's threads meet between this store and whoever reads it, so that it does not matter "
    "which of two stores before the meeting comes first.";

constexpr const char* kOwnCount =
    "The count is this PE's own, read by the next message to the same PE, whose sender has met "
    "this one since, or is the same thread.";

constexpr const char* kGot =
    "A get stores into this PE's memory. Its own thread finds that, and others read it behind a "
    "meeting with this thread or a release of its own, which follows both stores.";

constexpr const char* kBehindMeeting =
    "The word is loaded behind a meeting of the group, which orders it behind the compare-and-swap "
    "of any of its threads; no other group works with the team.";

const std::vector<Argument> kArguments = {
    {{"device/channel.h", "", SiteOp::load, 1},
     Operator::narrow_block,
     Contract::advice,
     "receive-stall",
     kForAReport},
    {{"device/channel.h", "", SiteOp::load, 1},
     Operator::plain,
     Contract::advice,
     "receive-stall",
     kForAReport},
    {{"device/collective/combine.h", "", SiteOp::plain_store, 2},
     Operator::delay,
     Contract::met_since,
     "reduce-warp",
     kMetSince},
    {{"device/collective/gather.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::met_since,
     "collect",
     kMetSince},
    {{"device/collective/messenger.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::own_word,
     "broadcast-linear",
     kOwnCount},
    {{"device/collective/reduce.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::met_since,
     "reduce-in-place-of-some",
     kMetSince},
    {{"device/collective/session.h", "", SiteOp::rmw, 1},
     Operator::narrow_block,
     Contract::met_since,
     "broken-team",
     kBehindMeeting},
    {{"device/direct.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::own_word,
     "direct-fetch",
     kGot},
    {{"device/direct.h", "", SiteOp::plain_store, 2},
     Operator::delay,
     Contract::own_word,
     "direct-fetch",
     kGot},
    {{"device/direct.h", "", SiteOp::plain_store, 5},
     Operator::delay,
     Contract::own_word,
     "direct-pair",
     kGot},
    {{"device/receive_queue.h", "", SiteOp::plain_store, 3},
     Operator::delay,
     Contract::own_word,
     "receive-room",
     "The count is the receiving thread's own, which is one at a time."},
    {{"device/receive_queue.h", "", SiteOp::rmw, 1},
     Operator::narrow_block,
     Contract::own_word,
     "message-too-long",
     "The receive side of a channel belongs to one thread at a time, which reads the word "
     "itself; whoever it hands the channel to learns of that by an order that covers it."},
    {{"device/atomics.h", "", SiteOp::store, 1},
     Operator::delay,
     Contract::later_fence,
     "direct-put-signal",
     "An update without a result is in no order with what its thread stores later, but by fence "
     "and quiet, whose fence follows both stores."},
    {{"device/collective/alltoall.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::met_since,
     "alltoall",
     kMetSince},
    {{"device/collective/combine.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::met_since,
     "reduce-parts",
     kMetSince},
    {{"device/collective/combine.h", "", SiteOp::plain_store, 3},
     Operator::delay,
     Contract::met_since,
     "reduce-parts",
     kMetSince},
    {{"device/collective/direct_sync.h", "", SiteOp::store, 1},
     Operator::delay,
     Contract::own_word,
     "direct-barrier",
     "What is stored behind the message is this PE's own counts, which no other PE reads."},
    {{"device/collective/direct_sync.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::own_word,
     "direct-barrier",
     kOwnCount},
    {{"device/collective/direct_sync.h", "", SiteOp::plain_store, 2},
     Operator::delay,
     Contract::own_word,
     "direct-barrier",
     kOwnCount},
    {{"device/collective/direct_sync.h", "", SiteOp::plain_store, 3},
     Operator::delay,
     Contract::own_word,
     "direct-barrier",
     kOwnCount},
    {{"device/collective/messenger.h", "", SiteOp::plain_store, 2},
     Operator::delay,
     Contract::own_word,
     "broadcast-linear",
     kOwnCount},
    {{"device/collective/messenger.h", "", SiteOp::plain_store, 3},
     Operator::delay,
     Contract::own_word,
     "broadcast-linear",
     kOwnCount},
    {{"device/collective/session.h", "", SiteOp::load, 1},
     Operator::narrow_block,
     Contract::met_since,
     "broadcast-linear",
     kBehindMeeting},
    {{"device/collective/session.h", "", SiteOp::load, 1},
     Operator::plain,
     Contract::met_since,
     "broadcast-linear",
     kBehindMeeting},
    {{"device/collective/session.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::met_since,
     "reduce-again",
     kMetSince},
    {{"device/lock.h", "", SiteOp::plain_store, 2},
     Operator::delay,
     Contract::later_fence,
     "lock-of-three",
     kBehindTheFence},
    {{"device/lock.h", "", SiteOp::plain_store, 3},
     Operator::delay,
     Contract::later_fence,
     "lock-of-three",
     kBehindTheFence},
    {{"device/loss.h", "", SiteOp::load, 1},
     Operator::narrow_gpu,
     Contract::host_tells,
     "lost-peer",
     kHostTells},
    {{"device/receive_queue.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::own_word,
     "receive",
     "The count is the receiving thread's own, which is one at a time; the next store is one of "
     "the receive WQE, and the record comes behind both."},
    {{"device/send_queue.h", "", SiteOp::sync_warp, 3},
     Operator::remove,
     Contract::compiler,
     "warp-laps",
     "It orders nothing that anybody reads: it is there for a GPU's compiler, so that lanes "
     "which posted together come to the next post together."},
    {{"device/strided.h", "", SiteOp::plain_store, 1},
     Operator::delay,
     Contract::met_since,
     "direct-looks",
     kMetSince},
    {{"device/watchdog.h", "", SiteOp::load, 2},
     Operator::narrow_gpu,
     Contract::device_alone,
     "stall-again",
     "The device's threads alone set the word; the host clears it before a launch, which is "
     "ordered."},
    {{"device/watchdog.h", "", SiteOp::load, 3},
     Operator::narrow_gpu,
     Contract::host_tells,
     "calm",
     kHostTells},
    {{"device/watchdog.h", "", SiteOp::load, 4},
     Operator::narrow_gpu,
     Contract::host_tells,
     "calm",
     kHostTells},
    {{"device/watchdog.h", "", SiteOp::load, 5},
     Operator::narrow_gpu,
     Contract::host_tells,
     "watchdog",
     "The host changes the state of a report between launches alone, which are ordered."},
    {{"device/watchdog.h", "", SiteOp::load, 6},
     Operator::narrow_gpu,
     Contract::device_alone,
     "stall-again",
     "The device's threads alone set the word; the host clears it before a launch, which is "
     "ordered."},
    {{"device/watchdog.h", "", SiteOp::store, 1},
     Operator::narrow_gpu,
     Contract::device_alone,
     "stall-again",
     "The device's threads alone read the word; the host clears it before a launch, which is "
     "ordered."},
};

}  // namespace

const std::vector<Argument>& arguments() { return kArguments; }

}  // namespace gdakit::sim
