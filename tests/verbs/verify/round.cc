#include "tests/verbs/verify/round.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>

namespace gdakit::verify {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};
constexpr auto kLate = std::chrono::milliseconds(2);

ibv_wr_opcode operation_of(Kind kind) {
  switch (kind) {
    case Kind::send: return IBV_WR_SEND;
    case Kind::send_imm: return IBV_WR_SEND_WITH_IMM;
    case Kind::write: return IBV_WR_RDMA_WRITE;
    case Kind::write_imm: return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Kind::read: return IBV_WR_RDMA_READ;
    case Kind::add:
    case Kind::count: return IBV_WR_ATOMIC_FETCH_AND_ADD;
    default: return IBV_WR_ATOMIC_CMP_AND_SWP;
  }
}

ibv_wc_opcode completion_of(Kind kind) {
  switch (kind) {
    case Kind::send:
    case Kind::send_imm: return IBV_WC_SEND;
    case Kind::write:
    case Kind::write_imm: return IBV_WC_RDMA_WRITE;
    case Kind::read: return IBV_WC_RDMA_READ;
    case Kind::add:
    case Kind::count: return IBV_WC_FETCH_ADD;
    default: return IBV_WC_COMP_SWAP;
  }
}

int segments_of(const Area& area, std::size_t slot, const Pieces& pieces, ibv_sge* to) {
  int count = 0;
  for (const Piece& piece : pieces) {
    to[count++] = {area.address(slot) + piece.offset, piece.length, area.region().lkey};
  }
  return count;
}

void expect(bool right, const char* what, const Message& message, const ibv_wc& found) {
  if (right) return;
  give_up("%s: a %s of %u bytes; completion %lu of opcode %d, %u bytes, flags %x, imm %x", what,
          std::string(name_of(message.kind)).c_str(), message.length,
          static_cast<unsigned long>(found.wr_id), found.opcode, found.byte_len, found.wc_flags,
          found.imm_data);
}

// A word that an atomic fetched, which then is a guard again.
std::uint64_t take_word(const Area& area, std::size_t slot, const Pieces& pieces) {
  const std::uint64_t value = area.word(slot, pieces[0].offset);
  area.put_guards(slot, pieces[0]);
  return value;
}

// All messages of the round add 1 to one word: each must have found another number there.
void check_counts(std::vector<std::uint64_t> found, std::uint64_t before) {
  std::sort(found.begin(), found.end());
  for (const std::uint64_t value : found) {
    if (value != before++) give_up("of atomics on one word, two fetched the same or one is lost");
  }
}

}  // namespace

Round::Round(End& end, int side, int number)
    : end_(end),
      out_(plan_round(end.options(), side, number)),
      in_(plan_round(end.options(), 1 - side, number)),
      depth_(static_cast<std::size_t>(end.options().depth)),
      grh_(end.options().transport == "ud" ? kGrhBytes : 0),
      received_by_(end.messages(), kNone) {
  for (std::size_t i = 0; i < in_.size(); i += depth_) {
    next_sent_.push_back(i);
    next_received_.push_back(i);
  }
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (in_[i].takes_receive()) receives_.push_back(i);
    missing_ += out_[i].wants_completion ? 1 : 0;
    counts_ += out_[i].kind == Kind::count ? 1 : 0;
  }
  missing_ += receives_.size();
}

bool Round::is_inline(const Message& message) const {
  return message.may_inline && message.length <= end_.most_inline() &&
         message.kind <= Kind::write_imm;
}

Area::Contents Round::mine_at_first(const Message& message) const {
  if (message.kind > Kind::write_imm) return {};
  return {message.mine, 0, message.length, message.key};
}

// What was sent is as it was, but for inline data, which were overwritten. What was fetched is
// there.
Area::Contents Round::mine_at_last(const Message& message) const {
  if (message.kind == Kind::read) return {message.mine, 0, message.length, message.key};
  return is_inline(message) ? Area::Contents{} : mine_at_first(message);
}

// With a shared queue any message may come to any slot.
Pieces Round::receive_pieces(std::size_t slot) const {
  Pieces pieces = in_[slot].theirs;
  if (end_.options().shared) {
    const std::uint32_t longest = slot_bytes(end_.options()) - 256;
    // Libmlx5 hands a segment of no bytes on to the device, for which it has 2 GiB.
    const std::uint32_t first = 1 + in_[slot].length % 1000 % (longest - 1);
    pieces = {{64, first}, {64 + first + static_cast<std::uint32_t>(slot % 7), longest - first}};
  } else if (!in_[slot].is_send()) {
    pieces.clear();
  }
  if (grh_ == 0) return pieces;
  if (pieces.empty() || pieces.front().length == 0) {
    if (!pieces.empty()) pieces.erase(pieces.begin());
    pieces.insert(pieces.begin(), {64 - grh_, grh_});
  } else {
    pieces.front() = {pieces.front().offset - grh_, pieces.front().length + grh_};
  }
  return pieces;
}

void Round::prepare() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    end_.mine().fill(i, mine_at_first(out_[i]));
    const Message& message = in_[i];
    const bool is_read = message.kind == Kind::read;
    end_.theirs().fill(i, is_read ? Area::Contents{message.theirs, 0, message.length, message.key}
                                  : Area::Contents{});
    if (message.is_atomic() && message.kind != Kind::count) {
      end_.theirs().put_word(i, message.theirs[0].offset, message.before());
    }
    end_.received().fill(i, {});
  }
}

void Round::post_receives() {
  for (const std::size_t slot : receives_) {
    std::array<ibv_sge, kMostPieces> segments;
    ibv_recv_wr request{}, *bad = nullptr;
    request.wr_id = slot;
    request.sg_list = segments.data();
    request.num_sge = segments_of(end_.received(), slot, receive_pieces(slot), segments.data());
    const int error = end_.shared() != nullptr
                          ? ibv_post_srq_recv(end_.shared(), &request, &bad)
                          : ibv_post_recv(end_.queue(slot / depth_), &request, &bad);
    if (error != 0) give_up("a receive could not be posted: error %d", error);
  }
}

// Returns the first message of the queue's next list.
std::size_t Round::post_list(std::size_t queue, std::size_t first) {
  const std::size_t end = (queue + 1) * depth_;
  std::size_t last = first + 1;
  while (last < end && !out_[last].begins_list) ++last;
  std::vector<ibv_send_wr> requests(last - first);
  std::vector<std::array<ibv_sge, kMostPieces>> segments(last - first);
  for (std::size_t i = first; i < last; ++i) {
    const Message& message = out_[i];
    ibv_send_wr& request = requests[i - first];
    request.wr_id = i;
    request.next = i + 1 < last ? &request + 1 : nullptr;
    request.sg_list = segments[i - first].data();
    request.num_sge = segments_of(end_.mine(), i, message.mine, request.sg_list);
    request.opcode = operation_of(message.kind);
    request.send_flags = (message.wants_completion ? IBV_SEND_SIGNALED : 0) |
                         (is_inline(message) ? IBV_SEND_INLINE : 0);
    request.imm_data = message.immediate;
    request.qp_type.xrc.remote_srqn = end_.remote_shared();
    const bool counts = message.kind == Kind::count;
    const RemoteMemory& remote = counts ? end_.remote_counter() : end_.remote_theirs();
    const std::uint64_t offset =
        counts || message.is_send() ? 0 : i * slot_bytes(end_.options()) + message.theirs[0].offset;
    const std::uint64_t target = remote.address + offset;
    if (message.is_atomic()) {
      const bool swaps = message.kind == Kind::swap;
      const std::uint64_t expected = message.before() + (message.swap_succeeds() ? 0 : 1);
      request.wr.atomic = {target,
                           swaps    ? expected
                           : counts ? 1
                                    : message.key,
                           mixed(message.before()), remote.key};
    } else if (end_.address_handle() != nullptr) {
      request.wr.ud = {end_.address_handle(), end_.remote_number(queue), 0x2345};
    } else if (!message.is_send()) {
      request.wr.rdma = {target, remote.key};
    }
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(end_.queue(queue), requests.data(), &bad);
  if (error != 0) give_up("a message could not be posted: error %d", error);
  for (std::size_t i = first; i < last; ++i) {
    if (is_inline(out_[i])) end_.mine().fill(i, {});
  }
  return last;
}

void Round::post_messages() {
  std::vector<std::size_t> next = next_sent_;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t queue = 0; queue < next.size(); ++queue) {
      if (next[queue] == (queue + 1) * depth_) continue;
      next[queue] = post_list(queue, next[queue]);
      any = true;
    }
  }
}

void Round::take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    give_up("a completion says: %s (vendor 0x%x)", ibv_wc_status_str(completion.status),
            completion.vendor_err);
  }
  if (missing_ == 0) give_up("a completion too many");
  --missing_;
  end_.moved();
  const std::size_t queue = end_.index_of(completion.qp_num);
  if ((completion.opcode & IBV_WC_RECV) != 0) {
    take_received(completion, queue);
  } else {
    take_sent(completion, queue);
  }
}

void Round::take_sent(const ibv_wc& completion, std::size_t queue) {
  std::size_t& next = next_sent_[queue];
  const std::size_t end = (queue + 1) * depth_;
  while (next < end && !out_[next].wants_completion) ++next;
  if (next == end) give_up("a completion that nobody asked for");
  const Message& message = out_[next];
  expect(completion.wr_id == next, "out of order", message, completion);
  expect(completion.opcode == completion_of(message.kind), "another opcode", message, completion);
  if (message.kind >= Kind::read) {
    expect(completion.byte_len == message.length, "another length", message, completion);
  }
  ++next;
}

void Round::take_received(const ibv_wc& completion, std::size_t queue) {
  std::size_t& next = next_received_[queue];
  const std::size_t end = (queue + 1) * depth_;
  while (next < end && !in_[next].takes_receive()) ++next;
  if (next == end || completion.wr_id >= in_.size()) give_up("a receive that was not posted");
  const Message& message = in_[next];
  expect(end_.shared() != nullptr || completion.wr_id == next, "a message is missing", message,
         completion);
  expect(completion.opcode == (message.is_send() ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM),
         "another opcode", message, completion);
  expect(completion.byte_len == message.length + grh_, "another length", message, completion);
  const bool has = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  expect(has == message.has_immediate() && (!has || completion.imm_data == message.immediate),
         "another immediate", message, completion);
  expect(grh_ == 0 || completion.src_qp == end_.remote_number(queue), "another source", message,
         completion);
  expect(received_by_[completion.wr_id] == kNone, "a slot twice", message, completion);
  received_by_[completion.wr_id] = next;
  ++next;
}

void Round::check(std::uint64_t counted_before) const {
  std::vector<std::uint64_t> found;
  for (std::size_t i = 0; i < out_.size(); ++i) {
    const Message& message = out_[i];
    if (message.is_atomic()) {
      const std::uint64_t old = take_word(end_.mine(), i, message.mine);
      if (message.kind == Kind::count) {
        found.push_back(old);
      } else if (old != message.before()) {
        give_up("an atomic %s fetched another word", std::string(name_of(message.kind)).c_str());
      }
    }
    end_.mine().check(i, mine_at_last(message), message);
  }
  check_counts(std::move(found), counted_before);
}

void Round::check_targets() const {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const Message& message = in_[i];
    if (message.is_atomic() && message.kind != Kind::count &&
        take_word(end_.theirs(), i, message.theirs) != message.after()) {
      give_up("an atomic %s left another word", std::string(name_of(message.kind)).c_str());
    }
    const bool is_there = !message.is_send() && !message.is_atomic();
    end_.theirs().check(i,
                        is_there ? Area::Contents{message.theirs, 0, message.length, message.key}
                                 : Area::Contents{},
                        message);
  }
  for (const std::size_t slot : receives_) {
    const Message& message = in_[received_by_[slot]];
    const std::uint32_t length = message.is_send() ? message.length : 0;
    end_.received().check(slot, {receive_pieces(slot), grh_, length, message.key}, message);
  }
}

Verified Round::run(const Meeting& meeting, std::uint64_t counted_before) {
  prepare();
  if (!end_.options().late) post_receives();
  meeting.wait();
  post_messages();
  if (end_.options().late) {
    std::this_thread::sleep_for(kLate);
    post_receives();
  }
  end_.moved();
  while (missing_ > 0) {
    end_.complete([this](const ibv_wc& completion) { take(completion); });
  }
  meeting.wait();
  check(counted_before);
  check_targets();
  meeting.wait();
  return {out_.size(), (2 * out_.size() + receives_.size()) * slot_bytes(end_.options())};
}

}  // namespace gdakit::verify
