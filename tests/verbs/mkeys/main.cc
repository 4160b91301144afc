// A program of verbs and libmlx5 that moves bytes by keys that consist of parts of others, and
// compares every byte of both ends' memory. It knows nothing of gdakit:
//
//   gdakit verbs -- verbs_mkeys
//
// Layouts are lists (mlx5dv_wr_mr_list) and interleaved ones (mlx5dv_wr_mr_interleaved), by these
// calls and by mlx5dv_wr_mkey_configure, and lists of such keys. The last line counts what was
// compared. The exit status is 0 if all was right, and 1 if not.
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "tests/verbs/mkeys/node.h"

namespace gdakit::mkeys {
namespace {

using Memory = std::vector<std::uint8_t>;

std::uint64_t compared = 0;
std::uint32_t seed = 1;

void fill(Node& node) {
  for (std::size_t i = 0; i < kBytes; ++i) {
    seed = seed * 1664525 + 1013904223;
    node.bytes()[i] = static_cast<std::uint8_t>(seed >> 24);
  }
}

Memory memory_of(Node& node) { return {node.bytes(), node.bytes() + kBytes}; }

void compare(Node& node, const Memory& expected, const std::string& what) {
  compared += kBytes;
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (node.bytes()[i] == expected[i]) continue;
    std::fprintf(stderr, "%s: byte %zu is %d and not %d\n", what.c_str(), i, node.bytes()[i],
                 expected[i]);
    give_up("bytes differ");
  }
}

void expect(Node& node, ibv_wc_status status, const std::string& what) {
  const ibv_wc completion = node.wait();
  if (completion.status == status) return;
  std::fprintf(stderr, "%s: %s and not %s\n", what.c_str(), ibv_wc_status_str(completion.status),
               ibv_wc_status_str(status));
  give_up("a completion is another");
}

struct Ends {
  explicit Ends(ibv_context* context) : here(context), there(context) { connect(here, there); }
  Node here, there;
};

// Bytes of the layout of one end are moved to or from the other end's memory, from kPlain on.
constexpr std::size_t kPlain = 48 * 1024;

struct Case {
  const char* name;
  ibv_wr_opcode opcode;
  bool key_is_here;  // else at the peer's end
  bool to_key;       // the bytes of the key change; else they are moved from it
};
constexpr Case kCases[] = {
    {"SEND from the key", IBV_WR_SEND, true, false},
    {"SEND received by the key", IBV_WR_SEND, false, true},
    {"WRITE from the key", IBV_WR_RDMA_WRITE, true, false},
    {"WRITE to the key", IBV_WR_RDMA_WRITE, false, true},
    {"READ from the key", IBV_WR_RDMA_READ, false, false},
    {"READ to the key", IBV_WR_RDMA_READ, true, true},
};

void run(Ends& ends, const Case& one, const std::vector<std::size_t>& places, mlx5dv_mkey* key,
         const std::string& what) {
  Node& keyed = one.key_is_here ? ends.here : ends.there;
  Node& plain = one.key_is_here ? ends.there : ends.here;
  const auto bytes = static_cast<std::uint32_t>(places.size());
  fill(ends.here);
  fill(ends.there);
  Memory of_keyed = memory_of(keyed), of_plain = memory_of(plain);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::uint8_t& in_key = of_keyed[places[i]];
    std::uint8_t& outside = of_plain[kPlain + i];
    (one.to_key ? in_key : outside) = one.to_key ? outside : in_key;
  }
  const auto address_at = [&](bool is_here) {
    return is_here == one.key_is_here ? 0 : plain.address(kPlain);
  };
  const std::uint32_t lkey = one.key_is_here ? key->lkey : ends.here.mr()->lkey;
  const std::uint32_t peers = one.key_is_here ? ends.there.mr()->lkey : key->lkey;
  const std::uint32_t rkey = one.key_is_here ? ends.there.mr()->rkey : key->rkey;
  if (one.opcode == IBV_WR_SEND) ends.there.receive(address_at(false), bytes, peers);
  ends.here.post({one.opcode, address_at(true), bytes, lkey, address_at(false), rkey});
  expect(ends.here, IBV_WC_SUCCESS, what);
  if (one.opcode == IBV_WR_SEND) expect(ends.there, IBV_WC_SUCCESS, what);
  compare(keyed, of_keyed, what);
  compare(plain, of_plain, what);
}

std::vector<Layout> layouts_of(Node& node) {
  std::vector<Layout> all = {
      node.list_of({{0, 8}, {64, 8}}),
      node.list_of({{9000, 5000}, {1, 1}, {20000, 4097}, {3, 3}}),
      node.interleaved_of(3, {{0, 8, 2}, {64, 8, 2}}),
      node.interleaved_of(200, {{100, 1, 6}, {5000, 33, 7}, {30000, 5, 0}}),
  };
  const char* const names[] = {"short list", "long list", "short interleaved", "long interleaved"};
  for (std::size_t i = 0; i < all.size(); ++i) all[i].name = names[i];
  return all;
}

void run_all(ibv_context* context) {
  Ends ends(context);
  for (const Case& one : kCases) {
    Node& keyed = one.key_is_here ? ends.here : ends.there;
    for (const Layout& layout : layouts_of(keyed)) {
      for (const bool configures : {false, true}) {
        const std::string what = std::string(one.name) + ", " + layout.name;
        keyed.enable(keyed.mkey(), layout, configures);
        run(ends, one, layout.places, keyed.mkey(), what);
        // All of it but the first byte, behind which the region's first 100 are: by another key.
        const auto bytes = static_cast<std::uint32_t>(layout.places.size());
        Layout outer;
        outer.list = {{1, bytes - 1, keyed.mkey()->lkey}, {keyed.address(), 100, keyed.mr()->lkey}};
        outer.places.assign(layout.places.begin() + 1, layout.places.end());
        const bool overlaps = one.to_key;  // then the order of both parts would count
        if (overlaps) outer.list[1].addr = keyed.address(kBytes - 100);
        const std::size_t behind = overlaps ? kBytes - 100 : 0;
        for (std::size_t i = 0; i < 100; ++i) outer.places.push_back(behind + i);
        keyed.enable(keyed.outer(), outer, configures);
        run(ends, one, outer.places, keyed.outer(), what + ", by another key");
      }
    }
  }
}

void add(ibv_context* context) {
  Ends ends(context);
  ends.there.enable(ends.there.mkey(), ends.there.list_of({{4096, 8}, {512, 16}}), false);
  const std::uint64_t before = 41;
  std::memcpy(ends.there.bytes() + 520, &before, sizeof before);
  ends.here.post({IBV_WR_ATOMIC_FETCH_AND_ADD, ends.here.address(), 8, ends.here.mr()->lkey, 16,
                  ends.there.mkey()->rkey, 1});
  expect(ends.here, IBV_WC_SUCCESS, "fetch and add");
  std::uint64_t after = 0, old = 0;
  std::memcpy(&after, ends.there.bytes() + 520, sizeof after);
  std::memcpy(&old, ends.here.bytes(), sizeof old);
  if (after != 42 || old != 41) give_up("fetch and add has added something else");
}

// Each is refused, and ends its connection.
void refuse(ibv_context* context) {
  const auto refused = [&](const char* what, ibv_wc_status status, auto post) {
    Ends ends(context);
    ends.here.enable(ends.here.mkey(), ends.here.list_of({{0, 8}, {64, 8}}), false);
    ends.there.enable(ends.there.mkey(), ends.there.list_of({{0, 8}, {64, 8}}), false);
    post(ends);
    expect(ends.here, status, what);
  };
  const auto write = [](Ends& ends, std::uint64_t at, std::uint32_t bytes) {
    ends.here.post({IBV_WR_RDMA_WRITE, ends.here.address(), bytes, ends.here.mr()->lkey, at,
                    ends.there.mkey()->rkey});
  };
  const auto gather = [](Ends& ends, std::uint32_t bytes) {
    ends.here.post({IBV_WR_RDMA_WRITE, 0, bytes, ends.here.mkey()->lkey, ends.there.address(),
                    ends.there.mr()->rkey});
  };
  refused("a WRITE beyond the key", IBV_WC_REM_ACCESS_ERR, [&](Ends& ends) { write(ends, 0, 17); });
  refused("a WRITE behind the key", IBV_WC_REM_ACCESS_ERR, [&](Ends& ends) { write(ends, 16, 1); });
  refused("a WRITE from beyond the key", IBV_WC_LOC_PROT_ERR,
          [&](Ends& ends) { gather(ends, 17); });
  refused("a WRITE to an invalidated key", IBV_WC_REM_ACCESS_ERR, [&](Ends& ends) {
    if (ends.there.invalidate(ends.there.mkey()) != IBV_WC_SUCCESS) give_up("no invalidate");
    write(ends, 0, 8);
  });
  refused("a WRITE from an invalidated key", IBV_WC_LOC_PROT_ERR, [&](Ends& ends) {
    if (ends.here.invalidate(ends.here.mkey()) != IBV_WC_SUCCESS) give_up("no invalidate");
    gather(ends, 8);
  });
}

int run() {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  if (devices == nullptr || count == 0) give_up("there is no device");
  const Owned<ibv_context> context(ibv_open_device(devices[0]));
  ibv_free_device_list(devices);
  if (context == nullptr) give_up("the device does not open");
  run_all(context.get());
  add(context.get());
  refuse(context.get());
  std::printf("compared %lu bytes\n", static_cast<unsigned long>(compared));
  return 0;
}

}  // namespace
}  // namespace gdakit::mkeys

int main() { return gdakit::mkeys::run(); }
