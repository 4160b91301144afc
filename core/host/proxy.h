// The proxy: a host thread between a device's threads and the NIC, for queues whose Handler is not
// gpu. It rings for a device that cannot reach the doorbell registers, or builds the WQEs, too, and
// passes completions back; device/proxied_queue.h says how.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/register_store.h"
#include "core/base/type_identity.h"
#include "device/cpu_memory_order.h"
#include "device/proxied_queue.h"

namespace gdakit {

class Proxy {
 public:
  Proxy();
  // What was announced and not yet rung for stays so.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Watches one more queue, whose memory the host reaches in place and which stays until the Proxy
  // ends.
  void watch(const ProxiedQueue& queue);

 private:
  void run();
  bool turn();

  std::mutex mutex_;
  std::vector<ProxiedQueue> watched_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// What device/proxied_queue.h needs of a processor, as the host's own threads do it.
struct ProxyMachine {
  template <class Order, class T>
  T load(Order, const T* from) {
    return __atomic_load_n(from, cpu_memory_order(Order::kind));
  }
  template <class Order, class T>
  void store(Order, T* to, type_identity_t<T> value) {
    __atomic_store_n(to, value, cpu_memory_order(Order::kind));
  }
  template <class Order>
  void fence(Order) {
    __atomic_thread_fence(cpu_memory_order(Order::kind));
  }
  template <class T>
  T load_weak(const T* from) {
    return *from;
  }
  template <class T>
  void store_weak(T* to, const type_identity_t<T>& value) {
    *to = value;
  }
  // Released once more, because ThreadSanitizer does not understand the fence before it.
  void store_mmio(std::uint64_t* to, std::uint64_t value) { store_register(to, value); }
};

}  // namespace gdakit
