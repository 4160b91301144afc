// The server: a kernel that runs until every client has said goodbye. Block b serves client b: its
// first thread receives, all threads fill pages and put them, and the first one puts the last page
// with the immediate that names the request.
#pragma once

#include "device/channel.h"
#include "examples/paged_fill/messages.h"
#include "examples/paged_fill/pages.h"

namespace fill {

// The memory and the sizes that a server works with. One is copied to each kernel.
struct Serve {
  gdakit::Channels channels;
  const std::int32_t* clients;  // [blocks] their PEs
  char* messages;               // [blocks][receives][message_bytes]
  Welcome* welcomes;            // [blocks]
  Word* stage;                  // [blocks][in_flight][pages][page_words]: what is put
  Word* pages_there;            // the symmetric array of pages, as clients have it
  std::uint64_t* served;        // [blocks] pages that were put; its own memory
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
    std::uint64_t pages_put = 0;
    if (pe.thread_index() == 0) begin(pe, channel, client);
    for (;;) {
      // All threads get to know which buffer the message is in, and see it.
      const bool first = pe.thread_index() == 0;
      const std::uint64_t at = first ? next_message(channel, client) : 0;
      const std::uint64_t address = pe.machine().broadcast_block(at);
      if (address == kStop) break;
      const auto* const request = reinterpret_cast<const Request*>(address);
      const Word* const last_page = fill(pe, channel, client, *request);
      pages_put += request->count;
      pe.machine().sync_block();  // every page is posted, and the message is read
      if (first) finish(channel, client, *request, last_page);
      pe.machine().sync_block();
    }
    if (pe.thread_index() == 0) {
      channel.quiet();
      served[pe.block_index()] = pages_put;
    }
  }

 private:
  // Posts the receives, and answers the client's Hello.
  template <class Pe, class Channel>
  GDAKIT_DEVICE void begin(Pe& pe, Channel& channel, int client) const {
    char* const own = messages + pe.block_index() * receives * message_bytes;
    for (std::uint32_t i = 0; i < receives; ++i) {
      channel.post_receive(own + i * message_bytes, message_bytes, client);
    }
    const gdakit::Received got = channel.wait_receive(client);
    if (!got.arrived()) return;
    const auto* const hello = static_cast<const Hello*>(got.buffer);
    Welcome* const welcome = welcomes + pe.block_index();
    const bool same_size = hello->page_bytes == page_words * sizeof(Word);
    const bool fits = hello->offset + hello->pages <= pages_of_client;
    welcome->answer = !same_size ? Answer::other_page_size
                      : !fits    ? Answer::too_many_pages
                                 : Answer::welcome;
    channel.post_receive(got.buffer, message_bytes, client);
    channel.send(welcome, 1, client);
  }

  // The address of the next request; kStop for a Bye, and for what no client sends.
  template <class Channel>
  GDAKIT_DEVICE std::uint64_t next_message(Channel& channel, int client) const {
    const gdakit::Received got = channel.wait_receive(client);
    if (!got.arrived()) return kStop;  // the launch reports why
    const auto* const request = static_cast<const Request*>(got.buffer);
    bool good =
        request->kind == Kind::request && request->count - 1 < pages && request->slot < in_flight;
    for (std::uint32_t i = 0; good && i < request->count; ++i) {
      good = number_of(*request, i) < pages_of_client;
    }
    return good ? reinterpret_cast<std::uint64_t>(request) : kStop;
  }

  // Fills this thread's share of the pages, and puts all but the last one. Returns the last one.
  template <class Pe, class Channel>
  GDAKIT_DEVICE const Word* fill(Pe& pe, Channel& channel, int client,
                                 const Request& request) const {
    const std::uint64_t first =
        (std::uint64_t{pe.block_index()} * in_flight + request.slot) * pages * page_words;
    const std::uint32_t last = request.count - 1;
    for (std::uint32_t i = pe.thread_index(); i < request.count; i += pe.block_threads()) {
      const std::uint32_t page = number_of(request, i);
      Word* const source = stage + first + std::uint64_t{i} * page_words;
      const Word seed = page_seed(request.seed, i, page);
      for (std::uint32_t word = 0; word < page_words; ++word) source[word] = word_of(seed, word);
      if (i == last) continue;
      channel.put_async(place_of(page), source, page_words, client, gdakit::Batch::more);
    }
    return stage + first + std::uint64_t{last} * page_words;
  }

  // Posts the message's buffer again, before the answer lets the client send its next request; then
  // the last page, behind all others, with the immediate.
  template <class Channel>
  GDAKIT_DEVICE void finish(Channel& channel, int client, const Request& request,
                            const Word* last_page) const {
    const std::uint32_t number = request.number;
    const std::uint32_t page = number_of(request, request.count - 1);
    channel.post_receive(const_cast<Request*>(&request), message_bytes, client);
    channel.put_with_immediate_async(place_of(page), last_page, page_words, number, client);
  }

  GDAKIT_DEVICE static std::uint32_t number_of(const Request& request, std::uint32_t place) {
    return reinterpret_cast<const std::uint32_t*>(&request + 1)[place];
  }
  GDAKIT_DEVICE Word* place_of(std::uint32_t page) const {
    return pages_there + std::uint64_t{page} * page_words;
  }
};

}  // namespace fill
