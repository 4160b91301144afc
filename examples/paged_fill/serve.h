// The server: a kernel that runs until every client has said goodbye. Block b serves client b: its
// first thread receives, all threads fill pages and put them, and the first one puts the last page
// with the immediate that names the request.
#pragma once

#include "device/channel.h"
#include "examples/paged_fill/messages.h"
#include "examples/paged_fill/pages.h"

namespace fill {

// Why a server has ended a connection.
enum class Problem : std::uint32_t {
  none,
  channel_failed,  // the launch says why
  bad_hello,
  bad_request,
};

// What became of one client.
struct Served {
  std::uint64_t pages;  // that were put
  Problem problem;
};

// The memory and the sizes that a server works with. One is copied to each kernel.
struct Serve {
  gdakit::Channels channels;
  const std::int32_t* clients;  // [blocks] their PEs
  char* messages;               // [blocks][receives][message_bytes]
  Welcome* welcomes;            // [blocks]
  Word* stage;                  // [blocks][in_flight][pages][page_words]: what is put
  Word* pages_there;            // the symmetric array of pages, as clients have it
  Served* served;               // [blocks] its own memory
  std::uint64_t pages_of_client;
  std::uint64_t message_bytes;
  std::uint32_t receives;  // posted for each client
  std::uint32_t in_flight;
  std::uint32_t pages;  // of a request, at most
  std::uint32_t page_words;

  static constexpr std::uint64_t kStop = ~std::uint64_t{0};

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    const int client = clients[pe.block_index()];
    const bool first = pe.thread_index() == 0;
    Served mine{};  // of the first thread
    if (first) mine.problem = begin(pe, channel, client);
    for (;;) {
      // All threads get to know which buffer the message is in, and see it.
      const std::uint64_t at = first ? next_message(channel, client, mine.problem) : 0;
      const std::uint64_t address = pe.machine().broadcast_block(at);
      if (address == kStop) break;
      const auto* const request = reinterpret_cast<const Request*>(address);
      const std::uint32_t count = request->count;
      const bool filled = fill(pe, channel, client, *request);
      const bool failed = pe.machine().any_block(!filled);  // all are posted, the message is read
      if (first && (failed || !finish(pe, channel, client, *request))) {
        mine.problem = Problem::channel_failed;
      }
      mine.pages += count;
      pe.machine().sync_block();
    }
    if (!first) return;
    if (!channel.quiet() && mine.problem == Problem::none) mine.problem = Problem::channel_failed;
    served[pe.block_index()] = mine;
  }

 private:
  // Posts the receives, and answers the client's Hello.
  template <class Pe, class Channel>
  GDAKIT_DEVICE Problem begin(Pe& pe, Channel& channel, int client) const {
    char* const own = messages + pe.block_index() * receives * message_bytes;
    for (std::uint32_t i = 0; i < receives; ++i) {
      if (!channel.post_receive(own + i * message_bytes, message_bytes, client)) {
        return Problem::channel_failed;
      }
    }
    const gdakit::Received got = channel.wait_receive(client);
    if (!got.arrived()) return Problem::channel_failed;
    Welcome* const welcome = welcomes + pe.block_index();
    const Answer answer = answer_to(*static_cast<const Hello*>(got.buffer), got);
    welcome->answer = answer;
    if (!channel.post_receive(got.buffer, message_bytes, client) ||
        !channel.send(welcome, 1, client)) {
      return Problem::channel_failed;
    }
    return answer == Answer::welcome ? Problem::none : Problem::bad_hello;
  }

  GDAKIT_DEVICE Answer answer_to(const Hello& hello, const gdakit::Received& got) const {
    if (got.has_immediate || got.bytes != sizeof(Hello) || hello.kind != Kind::hello) {
      return Answer::no_hello;
    }
    if (hello.page_bytes != page_words * sizeof(Word)) return Answer::other_page_size;
    return hello.pages <= pages_of_client ? Answer::welcome : Answer::too_many_pages;
  }

  // The address of the next request; kStop for a Bye, and where there is a problem.
  template <class Channel>
  GDAKIT_DEVICE std::uint64_t next_message(Channel& channel, int client, Problem& problem) const {
    if (problem != Problem::none) return kStop;
    const gdakit::Received got = channel.wait_receive(client);
    if (!got.arrived()) {
      problem = Problem::channel_failed;
      return kStop;
    }
    const auto* const request = static_cast<const Request*>(got.buffer);
    const bool whole = !got.has_immediate && got.bytes >= sizeof(Request);
    if (whole && is_good(*request, got.bytes)) return reinterpret_cast<std::uint64_t>(request);
    if (whole && request->kind == Kind::bye) return kStop;
    problem = Problem::bad_request;
    channel.put_with_immediate_async(pages_there, stage, 0, kRefused, client);
    return kStop;
  }

  GDAKIT_DEVICE bool is_good(const Request& request, std::uint64_t bytes) const {
    bool good = request.kind == Kind::request && request.count - 1 < pages &&
                request.slot < in_flight && bytes == request_bytes(request.count);
    for (std::uint32_t i = 0; good && i < request.count; ++i) {
      good = number_of(request, i) < pages_of_client;
    }
    return good;
  }

  // Fills this thread's share of the pages, and puts all but the last one.
  template <class Pe, class Channel>
  GDAKIT_DEVICE bool fill(Pe& pe, Channel& channel, int client, const Request& request) const {
    bool good = true;
    for (std::uint32_t i = pe.thread_index(); i < request.count; i += pe.block_threads()) {
      const std::uint32_t page = number_of(request, i);
      Word* const source = source_of(pe, request, i);
      const Word seed = page_seed(request.seed, i, page);
      for (std::uint32_t word = 0; word < page_words; ++word) source[word] = word_of(seed, word);
      if (i + 1 == request.count) continue;
      const gdakit::Ticket put =
          channel.put_async(place_of(page), source, page_words, client, gdakit::Batch::more);
      good = good && put.status.ok();
    }
    return good;
  }

  // Posts the message's buffer again, before the answer lets the client send its next request; then
  // the last page, behind all others, with the immediate.
  template <class Pe, class Channel>
  GDAKIT_DEVICE bool finish(Pe& pe, Channel& channel, int client, const Request& request) const {
    const std::uint32_t number = request.number;
    const std::uint32_t last = request.count - 1;
    Word* const place = place_of(number_of(request, last));
    const Word* const source = source_of(pe, request, last);
    if (!channel.post_receive(const_cast<Request*>(&request), message_bytes, client)) return false;
    return channel.put_with_immediate_nbi(place, source, page_words, number, client).ok();
  }

  template <class Pe>
  GDAKIT_DEVICE Word* source_of(Pe& pe, const Request& request, std::uint32_t place) const {
    const std::uint64_t slot = std::uint64_t{pe.block_index()} * in_flight + request.slot;
    return stage + (slot * pages + place) * page_words;
  }
  GDAKIT_DEVICE static std::uint32_t number_of(const Request& request, std::uint32_t place) {
    return reinterpret_cast<const std::uint32_t*>(&request + 1)[place];
  }
  GDAKIT_DEVICE Word* place_of(std::uint32_t page) const {
    return pages_there + std::uint64_t{page} * page_words;
  }
};

}  // namespace fill
