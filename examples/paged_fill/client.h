// The client: a host thread that asks servers to fill its pages, and looks at every word of them.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/paged_fill/arguments.h"
#include "examples/paged_fill/pages.h"
#include "gdakit.h"

namespace fill {

struct ClientStatistics {
  std::uint64_t requests = 0;
  std::uint64_t pages = 0;  // that were filled and looked at
  double seconds = 0;       // during which a request was under way; verifying is not counted
  // From a request to its immediate, the median. While the client verifies it looks for immediates
  // between two pages.
  double request_us = 0;
};

// Where a client's pages are: `count` of them at `pages`, which every PE has.
struct ClientPages {
  Word* pages;
  std::uint32_t count;
  std::uint32_t words;  // of a page
};

// Sends all its requests to the servers in turn and returns when all pages are there and verified.
// `channels` are of ChannelEnd::host. Errors: a server refuses, a page has a wrong word.
gdakit::Result<ClientStatistics> run_client(gdakit::Context& context, const Arguments& arguments,
                                            const std::vector<int>& servers,
                                            const gdakit::Channels& channels, ClientPages pages);

}  // namespace fill
