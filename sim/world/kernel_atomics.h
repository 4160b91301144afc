// KernelAtomics: the atomics of KernelPe (kernel_pe.h), as device/pe_atomics.h has Pe's.
#pragma once

#include "sim/world/call_scope.h"

namespace gdakit::sim {

// A part of KernelPe; `Base` is what it does the calls by.
template <class Base>
class KernelAtomics : public Base {
  using At = CallPlace;

 public:
  KernelAtomics(const Base& base) : Base(base) {}

  template <class T>
  Status atomic_add(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_add", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_add(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_set(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_set", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_set(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_and(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_and", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_and(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_or(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                   At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_or", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_or(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_xor(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_xor", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_xor(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_inc(T* remote, int pe, Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_inc", "", pe, remote);
    return Base::atomic_inc(remote, pe, batch);
  }
  template <class T>
  T atomic_fetch_add(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                     At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_add", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_fetch_add(remote, value, pe, status);
  }
  template <class T>
  T atomic_swap(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_swap", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_swap(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch_and(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                     At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_and", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_fetch_and(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch_or(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_or", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_fetch_or(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch_xor(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                     At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_xor", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_fetch_xor(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch(const T* remote, int pe, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch", "", pe, remote);
    return Base::atomic_fetch(remote, pe, status);
  }
  template <class T>
  T atomic_fetch_inc(T* remote, int pe, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_inc", "", pe, remote);
    return Base::atomic_fetch_inc(remote, pe, status);
  }
  template <class T>
  T atomic_compare_swap(T* remote, type_identity_t<T> expected, type_identity_t<T> desired, int pe,
                        Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_compare_swap",
                         shown(this->machine(), desired), pe, remote);
    return Base::atomic_compare_swap(remote, expected, desired, pe, status);
  }

  // ---- With the old value written to *fetched.
  template <class T>
  Status atomic_fetch_nbi(T* fetched, const T* remote, int pe, Batch batch = Batch::last,
                          At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_nbi", "", pe, remote);
    return Base::atomic_fetch_nbi(fetched, remote, pe, batch);
  }
  template <class T>
  Status atomic_fetch_add_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                              Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_add_nbi", shown(this->machine(), value),
                         pe, remote);
    return Base::atomic_fetch_add_nbi(fetched, remote, value, pe, batch);
  }
  template <class T>
  Status atomic_fetch_inc_nbi(T* fetched, T* remote, int pe, Batch batch = Batch::last,
                              At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_inc_nbi", "", pe, remote);
    return Base::atomic_fetch_inc_nbi(fetched, remote, pe, batch);
  }
  template <class T>
  Status atomic_swap_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                         Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_swap_nbi", shown(this->machine(), value), pe,
                         remote);
    return Base::atomic_swap_nbi(fetched, remote, value, pe, batch);
  }
  template <class T>
  Status atomic_compare_swap_nbi(T* fetched, T* remote, type_identity_t<T> expected,
                                 type_identity_t<T> desired, int pe, Batch batch = Batch::last,
                                 At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_compare_swap_nbi",
                         shown(this->machine(), desired), pe, remote);
    return Base::atomic_compare_swap_nbi(fetched, remote, expected, desired, pe, batch);
  }
  template <class T>
  Status atomic_fetch_and_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                              Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_and_nbi", shown(this->machine(), value),
                         pe, remote);
    return Base::atomic_fetch_and_nbi(fetched, remote, value, pe, batch);
  }
  template <class T>
  Status atomic_fetch_or_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                             Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_or_nbi", shown(this->machine(), value),
                         pe, remote);
    return Base::atomic_fetch_or_nbi(fetched, remote, value, pe, batch);
  }
  template <class T>
  Status atomic_fetch_xor_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                              Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_xor_nbi", shown(this->machine(), value),
                         pe, remote);
    return Base::atomic_fetch_xor_nbi(fetched, remote, value, pe, batch);
  }
};

}  // namespace gdakit::sim
