// What a client and a server tell each other, on the one channel between them.
//
//   client (host thread)                        server (kernel, one block for each client)
//      Hello: where its pages are    -- SEND -->
//                                    <- SEND --  Welcome: agreed, or why not
//      Request 0: seed, page list    -- SEND -->
//      Request 1                     -- SEND -->  ... as many as may be in flight
//                                    <- WRITE --  page
//                                    <- WRITE --  page
//                                    <- WRITE with immediate 0 --  the last page of request 0
//      verifies, sends Request 4
//      Bye                           -- SEND -->
//
// A message that is none of these is answered by a Welcome that says no, or by the immediate
// kRefused; the server is then done with this client.
//
// The client has posted a receive for every answer that may come, and the server one for every
// message: nobody waits for the other's buffers.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"

namespace fill {

enum class Kind : std::uint32_t { hello = 1, request, bye };

struct Hello {
  Kind kind = Kind::hello;
  std::uint32_t page_bytes;
  std::uint64_t pages;  // that the client has, from the beginning of the symmetric array of pages
};

enum class Answer : std::uint32_t { welcome = 1, no_hello, other_page_size, too_many_pages };

struct Welcome {
  Answer answer;
};

// Behind it stand `count` numbers, of std::uint32_t, of the client's pages that are to be filled.
struct Request {
  Kind kind = Kind::request;
  std::uint32_t number;  // the immediate that answers it
  std::uint32_t slot;    // among those in flight, below Arguments::in_flight
  std::uint32_t count;   // pages, 1 or more
  std::uint64_t seed;
};
static_assert(sizeof(Request) % sizeof(std::uint32_t) == 0);

// Bytes of a request for so many pages.
GDAKIT_HOST_DEVICE constexpr std::uint64_t request_bytes(std::uint32_t pages) {
  return sizeof(Request) + std::uint64_t{pages} * sizeof(std::uint32_t);
}

// The immediate that answers what is no request, and ends the connection.
constexpr std::uint32_t kRefused = ~std::uint32_t{0};

// Bytes of the longest message to a server, a multiple of 8.
constexpr std::uint64_t message_bytes(std::uint32_t pages) {
  return (request_bytes(pages) + 7) / 8 * 8;
}

// Where a client has its Hello, behind the Welcome, before it has requests.
constexpr std::uint64_t kHelloOffset = 8;
static_assert(sizeof(Welcome) <= kHelloOffset && alignof(Hello) <= kHelloOffset);
static_assert(message_bytes(1) >= kHelloOffset + sizeof(Hello));

}  // namespace fill
