#include "examples/paged_fill/client.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "examples/paged_fill/messages.h"
#include "host_calls/host_channel.h"

namespace fill {
namespace {

using gdakit::Code;
using gdakit::Context;
using gdakit::Error;
using gdakit::HostChannel;
using gdakit::Received;
using gdakit::Result;
using Clock = std::chrono::steady_clock;

// A request that is under way.
struct InFlight {
  std::uint32_t number = 0;
  std::uint64_t seed = 0;
  std::vector<std::uint32_t> pages;
  Clock::time_point begin;
  bool under_way = false;  // not answered yet
};

// The upper one of the two in the middle.
double median(std::vector<double> of) {
  if (of.empty()) return 0;
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

// Memory of the host that the NIC may read and write, for messages.
class MessageMemory {
 public:
  static Result<std::unique_ptr<MessageMemory>> make(Context& context, std::uint64_t bytes) {
    std::unique_ptr<MessageMemory> memory(new MessageMemory(context, bytes));
    Result<void> known = context.register_buffer(memory->bytes_.data(), bytes);
    if (!known) return known.error();
    memory->known_ = true;
    return memory;
  }
  ~MessageMemory() {
    if (known_) static_cast<void>(context_.unregister_buffer(bytes_.data()));
  }
  MessageMemory(const MessageMemory&) = delete;
  MessageMemory& operator=(const MessageMemory&) = delete;

  char* at(std::uint64_t offset) { return bytes_.data() + offset; }

 private:
  MessageMemory(Context& context, std::uint64_t bytes) : context_(context), bytes_(bytes) {}

  Context& context_;
  std::vector<char> bytes_;
  bool known_ = false;
};

class Client {
 public:
  Client(Context& context, const Arguments& arguments, const std::vector<int>& servers,
         HostChannel& channel, MessageMemory& messages, ClientPages pages)
      : context_(context),
        arguments_(arguments),
        servers_(servers),
        channel_(channel),
        messages_(messages),
        pages_(pages),
        random_(static_cast<std::uint64_t>(context.my_pe())),
        in_flight_(arguments.in_flight),
        free_pages_(pages.count),
        page_(pages.words) {
    std::iota(free_pages_.begin(), free_pages_.end(), 0u);
    for (std::uint32_t slot = 0; slot < arguments.in_flight; ++slot) free_slots_.push_back(slot);
  }

  Result<ClientStatistics> run() {
    for (const int server : servers_) {
      if (Result<void> connected = connect(server); !connected) return connected.error();
    }
    std::uint32_t sent = 0;
    while (statistics_.requests < arguments_.requests) {
      for (; sent < arguments_.requests && !free_slots_.empty(); ++sent) {
        if (Result<void> asked = ask(sent); !asked) return asked.error();
      }
      if (Result<void> done = finish_request(); !done) return done.error();
    }
    statistics_.seconds = busy_.count();
    statistics_.request_us = median(request_us_);
    for (const int server : servers_) {
      if (Result<void> left = say_goodbye(server); !left) return left.error();
    }
    return statistics_;
  }

 private:
  Result<void> connect(int server) {
    auto* const answer = new (messages_.at(0)) Welcome{};
    auto* const hello = new (messages_.at(kHelloOffset)) Hello{};
    hello->page_bytes = static_cast<std::uint32_t>(pages_.words * sizeof(Word));
    hello->pages = pages_.count;
    if (auto posted = channel_.post_receive(answer, sizeof *answer, server); !posted) return posted;
    // One for the immediate of each request that may be in flight, wherever it goes.
    for (std::uint32_t i = 0; i < arguments_.in_flight; ++i) {
      if (auto posted = channel_.post_receive(server); !posted) return posted;
    }
    if (auto sent = channel_.send(hello, sizeof *hello, server); !sent) return sent;
    const Result<Received> got = channel_.wait_receive(server);
    if (!got) return got.error();
    if (answer->answer == Answer::welcome) return {};
    return Error(Code::invalid_argument, "the server, PE " + std::to_string(server) + ", " +
                                             refusal(answer->answer) +
                                             "; give all PEs the same options");
  }

  static const char* refusal(Answer answer) {
    switch (answer) {
      case Answer::other_page_size: return "has pages of another size";
      case Answer::too_many_pages: return "has fewer pages";
      default: return "does not know this Hello";
    }
  }

  // Sends request `number` for pages that are free, in any order.
  Result<void> ask(std::uint32_t number) {
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    std::shuffle(free_pages_.begin(), free_pages_.end(), random_);
    InFlight& mine = in_flight_[slot];
    mine.number = number;
    mine.seed = random_();
    mine.pages.assign(free_pages_.end() - arguments_.pages, free_pages_.end());
    free_pages_.resize(free_pages_.size() - arguments_.pages);
    char* const message = messages_.at(slot * message_bytes(arguments_.pages));
    auto* const request = new (message) Request{};
    request->number = number;
    request->slot = slot;
    request->count = arguments_.pages;
    request->seed = mine.seed;
    const std::uint64_t list_bytes = mine.pages.size() * sizeof(std::uint32_t);
    std::memcpy(message + sizeof(Request), mine.pages.data(), list_bytes);
    mine.begin = Clock::now();
    mine.under_way = true;
    if (under_way_++ == 0) busy_since_ = mine.begin;
    const int server = servers_[number % servers_.size()];
    const auto sent = channel_.send_async(message, sizeof(Request) + list_bytes, server);
    if (!sent) return sent.error().within("request " + std::to_string(number));
    return {};
  }

  // Waits until a request is answered, and looks at its pages.
  Result<void> finish_request() {
    if (answered_.empty()) {
      const Result<Received> got = channel_.wait_receive_any();
      if (!got) return got.error();
      if (Result<void> noted = note_answer(*got); !noted) return noted;
    }
    const std::uint32_t slot = answered_.front();
    answered_.pop_front();
    InFlight& mine = in_flight_[slot];
    if (Result<void> right = verify(mine); !right) return right;
    ++statistics_.requests;
    statistics_.pages += mine.pages.size();
    free_pages_.insert(free_pages_.end(), mine.pages.begin(), mine.pages.end());
    mine.pages.clear();
    free_slots_.push_back(slot);
    return {};
  }

  // Notes when the answers came that are there by now.
  Result<void> note_answers() {
    for (;;) {
      const Result<Received> got = channel_.poll_receive_any();
      if (!got) return got.error();
      if (!got->arrived()) return {};
      if (Result<void> noted = note_answer(*got); !noted) return noted;
    }
  }

  Result<void> note_answer(const Received& got) {
    const Clock::time_point now = Clock::now();
    const std::string server = "PE " + std::to_string(got.peer);
    if (got.has_immediate && got.immediate == kRefused) {
      return Error(Code::invalid_argument, server + " refuses a request");
    }
    const auto found =
        std::find_if(in_flight_.begin(), in_flight_.end(), [&](const InFlight& request) {
          return request.under_way && request.number == got.immediate;
        });
    if (!got.has_immediate || found == in_flight_.end()) {
      return Error(Code::internal, server + " has answered a request that is not in flight");
    }
    request_us_.push_back(std::chrono::duration<double, std::micro>(now - found->begin).count());
    found->under_way = false;
    if (--under_way_ == 0) busy_ += now - busy_since_;
    answered_.push_back(static_cast<std::uint32_t>(found - in_flight_.begin()));
    return channel_.post_receive(got.peer);
  }

  Result<void> verify(const InFlight& request) {
    for (std::uint32_t i = 0; i < request.pages.size(); ++i) {
      if (Result<void> noted = note_answers(); !noted) return noted;
      const std::uint32_t number = request.pages[i];
      const Word* const page = pages_.pages + std::uint64_t{number} * pages_.words;
      if (auto copied = context_.download(page_.data(), page, page_.size()); !copied) return copied;
      const Word seed = page_seed(request.seed, i, number);
      for (std::uint32_t word = 0; word < page_.size(); ++word) {
        if (page_[word] == word_of(seed, word)) continue;
        return Error(Code::internal, "request " + std::to_string(request.number) + ", page " +
                                         std::to_string(number) + ": word " + std::to_string(word) +
                                         " is not what the request's seed says");
      }
    }
    return {};
  }

  Result<void> say_goodbye(int server) {
    auto* const bye = new (messages_.at(0)) Request{};
    bye->kind = Kind::bye;
    return channel_.send(bye, sizeof *bye, server);
  }

  Context& context_;
  const Arguments& arguments_;
  const std::vector<int>& servers_;
  HostChannel& channel_;
  MessageMemory& messages_;
  const ClientPages pages_;
  std::mt19937_64 random_;
  std::vector<InFlight> in_flight_;     // by slot; of a free one `pages` is empty
  std::deque<std::uint32_t> answered_;  // slots, not verified yet
  std::uint32_t under_way_ = 0;         // requests that are not answered
  Clock::time_point busy_since_;        // from when on a request has been under way
  std::chrono::duration<double> busy_{0};
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> free_pages_;
  std::vector<Word> page_;
  std::vector<double> request_us_;
  ClientStatistics statistics_;
};

}  // namespace

Result<ClientStatistics> run_client(Context& context, const Arguments& arguments,
                                    const std::vector<int>& servers,
                                    const gdakit::Channels& channels, ClientPages pages) {
  auto messages = MessageMemory::make(
      context, std::uint64_t{arguments.in_flight} * message_bytes(arguments.pages));
  if (!messages) return messages.error();
  auto channel = HostChannel::open(context, channels);
  if (!channel) return channel.error();
  return Client(context, arguments, servers, **channel, **messages, pages).run();
}

}  // namespace fill
