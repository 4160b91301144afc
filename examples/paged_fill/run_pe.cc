#include "examples/paged_fill/run_pe.h"

#include <cinttypes>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "examples/paged_fill/client.h"
#include "examples/paged_fill/serve.h"

namespace fill {
namespace {

using gdakit::Context;
using gdakit::Result;

// A warp for each client.
constexpr std::uint32_t kServingThreads = 32;

// What a PE has done, as the table at the end tells it.
struct PeStatistics {
  bool serves = false;
  ClientStatistics client;
  std::uint64_t pages_served = 0;
  gdakit::NicCounters nic;
};

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

// The symmetric memory of a job.
struct Memory {
  Word* pages;  // of clients
  Word* stage;  // of servers
  char* messages;
  Welcome* welcomes;
  std::int32_t* clients;
  Served* served;
};

// Receives of each client at a server: a Hello or Bye, and its requests.
std::uint32_t receives_of(const Arguments& arguments) { return arguments.in_flight + 1; }

Result<Memory> allocate(Context& context, const Arguments& arguments, std::uint64_t clients) {
  Memory memory{};
  Result<void> done;
  const auto allocate = [&](auto*& place, std::uint64_t count, const char* name) {
    if (!done) return;  // the first error is the one to report
    auto made = context.allocate<std::remove_reference_t<decltype(*place)>>(count, name);
    if (made) {
      place = *made;
    } else {
      done = made.error();
    }
  };
  const std::uint64_t request_words =
      std::uint64_t{arguments.pages} * (arguments.page_bytes / sizeof(Word));
  allocate(memory.pages, arguments.buffers * request_words, "pages");
  allocate(memory.stage, clients * arguments.in_flight * request_words, "stage");
  allocate(memory.messages, clients * receives_of(arguments) * message_bytes(arguments.pages),
           "messages");
  allocate(memory.welcomes, clients, "welcomes");
  allocate(memory.clients, clients, "clients");
  allocate(memory.served, clients, "served");
  if (!done) return done.error();
  return memory;
}

Result<gdakit::Channels> add_channels(Context& context, const Arguments& arguments, bool serves) {
  gdakit::ChannelOptions wanted;
  // A welcome, a message or an immediate for each request, rounded up.
  while (wanted.receive_depth < arguments.in_flight + 2) wanted.receive_depth *= 2;
  wanted.end = serves ? gdakit::ChannelEnd::kernels : gdakit::ChannelEnd::host;
  return context.add_channels(wanted);
}

// What a launch may not have told.
gdakit::Error error_of(Problem problem, int client) {
  const std::string whose = "the client, PE " + std::to_string(client) + ", ";
  switch (problem) {
    case Problem::bad_hello:
      return {gdakit::Code::invalid_argument,
              whose + "has said no Hello, or one of other pages; give all PEs the same options"};
    case Problem::bad_request:
      return {gdakit::Code::invalid_argument, whose + "has sent what is no request"};
    default: return {gdakit::Code::system, whose + "is not served: its channel has failed"};
  }
}

Result<std::uint64_t> serve(Context& context, const Arguments& arguments, const Roles& roles,
                            const Memory& memory, const gdakit::Channels& channels) {
  const std::vector<std::int32_t> clients(roles.clients.begin(), roles.clients.end());
  if (auto copied = context.upload(memory.clients, clients.data(), clients.size()); !copied) {
    return copied.error();
  }
  Serve server{};
  server.channels = channels;
  server.clients = memory.clients;
  server.messages = memory.messages;
  server.welcomes = memory.welcomes;
  server.stage = memory.stage;
  server.pages_there = memory.pages;
  server.served = memory.served;
  server.pages_of_client = std::uint64_t{arguments.buffers} * arguments.pages;
  server.message_bytes = message_bytes(arguments.pages);
  server.receives = receives_of(arguments);
  server.in_flight = arguments.in_flight;
  server.pages = arguments.pages;
  server.page_words = static_cast<std::uint32_t>(arguments.page_bytes / sizeof(Word));
  const auto blocks = static_cast<std::uint32_t>(clients.size());
  if (auto ran = context.launch(server, {.blocks = blocks, .threads = kServingThreads}); !ran) {
    return ran.error();
  }
  std::vector<Served> served(clients.size());
  if (auto copied = context.download(served.data(), memory.served, served.size()); !copied) {
    return copied.error();
  }
  std::uint64_t pages = 0;
  for (std::size_t i = 0; i < served.size(); ++i) {
    if (served[i].problem != Problem::none) return error_of(served[i].problem, clients[i]);
    pages += served[i].pages;
  }
  return pages;
}

void print_header(const Context& context, const Arguments& arguments, const Roles& roles) {
  std::printf("on %s, %d PEs as %s: %s, %s\n", context.device_name().c_str(), context.n_pes(),
              arguments.pes ? "threads of one process" : "processes",
              counted(roles.servers.size(), "server").c_str(),
              counted(roles.clients.size(), "client").c_str());
  std::printf("%s a client, %u in flight, of %u pages of %u bytes\n",
              counted(arguments.requests, "request").c_str(), arguments.in_flight, arguments.pages,
              arguments.page_bytes);
  std::fflush(stdout);
}

void print_table(const std::vector<PeStatistics>& all, const Arguments& arguments) {
  std::printf("%4s %-7s %9s %9s %10s %9s %9s %9s %13s\n", "PE", "", "requests", "pages",
              "megabytes", "WQEs", "doorbells", "MB/s", "us a request");
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    const PeStatistics& row = all[pe];
    const std::uint64_t pages = row.serves ? row.pages_served : row.client.pages;
    const double megabytes = static_cast<double>(pages) * arguments.page_bytes / 1e6;
    std::printf("%4zu %-7s %9" PRIu64 " %9" PRIu64 " %10.3f %9" PRIu64 " %9" PRIu64, pe,
                row.serves ? "server" : "client",
                row.serves ? pages / arguments.pages : row.client.requests, pages, megabytes,
                row.nic.wqes, row.nic.doorbells);
    if (!row.serves) {
      std::printf(" %9.1f %13.1f", megabytes / row.client.seconds, row.client.request_us);
    }
    std::printf("\n");
  }
}

Result<void> report(Context& context, const Arguments& arguments, const Roles& roles,
                    const PeStatistics& mine) {
  auto all = gdakit::allgather_value(context.bootstrap(), mine);
  if (!all) return all.error();
  std::uint64_t filled = 0;
  std::uint64_t served = 0;
  for (const PeStatistics& row : *all) {
    filled += row.client.pages;
    served += row.pages_served;
  }
  if (filled != served) {
    return gdakit::Error(gdakit::Code::internal, "clients have got " + std::to_string(filled) +
                                                     " pages and servers have put " +
                                                     std::to_string(served));
  }
  if (context.my_pe() != 0) return {};
  print_table(*all, arguments);
  std::printf("verified: %s, %s, %s: every word is what its request's seed says\n",
              counted(roles.clients.size(), "client").c_str(),
              counted(roles.clients.size() * arguments.requests, "request").c_str(),
              counted(filled, "page").c_str());
  return {};
}

}  // namespace

Result<void> run_pe(Context& context, const Arguments& arguments) {
  Result<Roles> roles = make_roles(arguments, context.n_pes());
  if (!roles) return roles.error();
  PeStatistics mine;
  for (const int server : roles->servers) mine.serves |= server == context.my_pe();
  if (context.my_pe() == 0) print_header(context, arguments, *roles);
  Result<Memory> memory = allocate(context, arguments, roles->clients.size());
  if (!memory) return memory.error();
  auto channels = add_channels(context, arguments, mine.serves);
  if (!channels) return channels.error();
  if (mine.serves) {
    auto served = serve(context, arguments, *roles, *memory, *channels);
    if (!served) return served.error();
    mine.pages_served = *served;
  } else {
    const ClientPages pages{memory->pages, arguments.buffers * arguments.pages,
                            static_cast<std::uint32_t>(arguments.page_bytes / sizeof(Word))};
    auto filled = run_client(context, arguments, roles->servers, *channels, pages);
    if (!filled) return filled.error();
    mine.client = *filled;
  }
  mine.nic = context.nic_counters();
  return report(context, arguments, *roles, mine);
}

}  // namespace fill
