// For a kernel without a queueing discipline that marks: a classifier (BPF) which does, at a port
// whose discipline (tbf) sends kBytesPerMs. It reckons how long a packet will wait there, and
// marks it, if it can be marked, where that is longer than kThresholdNs.
//
//   clang -O2 -g -target bpf -c marking_port.c -o marking_port.o
//   tc qdisc add dev PORT clsact
//   tc filter add dev PORT egress bpf direct-action object-file marking_port.o section classifier
#include <linux/bpf.h>

enum { kBytesPerMs = 12500 /* 100 Mbit/s */, kThresholdNs = 400000, kLongestQueueNs = 5000000 };
enum { kGoOn = -1 };  // TC_ACT_UNSPEC: to the next classifier

#define SECTION(name) __attribute__((section(name), used))

// The kernel's helpers, by their numbers.
static void* (*map_lookup)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static __u64 (*now_ns)(void) = (void*)BPF_FUNC_ktime_get_ns;
static long (*set_marked)(struct __sk_buff* packet) = (void*)BPF_FUNC_skb_ecn_set_ce;

// One word: when all that the port has taken so far will have gone.
struct {
  int (*type)[BPF_MAP_TYPE_ARRAY];
  int (*max_entries)[1];
  __u32* key;
  __u64* value;
} free_ns SECTION(".maps");

SECTION("classifier") int mark_what_waits(struct __sk_buff* packet) {
  const __u32 first = 0;
  __u64* const free = map_lookup(&free_ns, &first);
  if (!free) return kGoOn;
  const __u64 now = now_ns();
  const __u64 begin = *free > now ? *free : now;
  const __u64 wait = begin - now;
  *free = wait > kLongestQueueNs ? begin : begin + packet->len * 1000000ull / kBytesPerMs;
  if (wait > kThresholdNs) set_marked(packet);
  return kGoOn;
}
