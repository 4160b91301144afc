// Pe's atomics.
#pragma once

#include "core/base/type_identity.h"
#include "device/atomics.h"
#include "device/value_bits.h"

namespace gdakit {

// A part of Pe, which is `Self`.
//
// Atomics on words of 4 or 8 bytes, naturally aligned. By single threads, whatever the group. They
// are atomic among themselves and the other NIC operations on that word. T is int, long, long long
// or an unsigned form of these, by any of their names; what fetches, sets or swaps also takes float
// and double. Source: OpenSHMEM 1.5 section 9.8; its bitwise operations leave out signed types that
// have no fixed width, these do not.
template <class Self>
class AtomicCalls {
 public:
  // ---- Without a result. They return at once; complete by quiet.

  template <class T>
  GDAKIT_DEVICE Status atomic_add(T* remote, type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    expect_integer<T>();
    return change(remote, request(atomics::Op::add, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_inc(T* remote, int pe, Batch batch = Batch::last) {
    return atomic_add(remote, T{1}, pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_set(T* remote, type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    expect_number<T>();
    return change(remote, request(atomics::Op::set, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_and(T* remote, type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    expect_integer<T>();
    return change(remote, request(atomics::Op::bit_and, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_or(T* remote, type_identity_t<T> value, int pe,
                                 Batch batch = Batch::last) {
    expect_integer<T>();
    return change(remote, request(atomics::Op::bit_or, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_xor(T* remote, type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    expect_integer<T>();
    return change(remote, request(atomics::Op::bit_xor, value), pe, batch);
  }

  // ---- With the old value as result; T{} when *status is not ok.

  template <class T>
  GDAKIT_DEVICE T atomic_fetch(const T* remote, int pe, Status* status = nullptr) {
    expect_number<T>();
    return exchange(remote, nothing(), pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_add(T* remote, type_identity_t<T> value, int pe,
                                   Status* status = nullptr) {
    expect_integer<T>();
    return exchange(remote, request(atomics::Op::add, value), pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_inc(T* remote, int pe, Status* status = nullptr) {
    return atomic_fetch_add(remote, T{1}, pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_swap(T* remote, type_identity_t<T> value, int pe,
                              Status* status = nullptr) {
    expect_number<T>();
    return exchange(remote, request(atomics::Op::set, value), pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_compare_swap(T* remote, type_identity_t<T> expected,
                                      type_identity_t<T> desired, int pe,
                                      Status* status = nullptr) {
    expect_integer<T>();
    return exchange(remote, request(atomics::Op::compare_swap, desired, expected), pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_and(T* remote, type_identity_t<T> value, int pe,
                                   Status* status = nullptr) {
    expect_integer<T>();
    return exchange(remote, request(atomics::Op::bit_and, value), pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_or(T* remote, type_identity_t<T> value, int pe,
                                  Status* status = nullptr) {
    expect_integer<T>();
    return exchange(remote, request(atomics::Op::bit_or, value), pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_xor(T* remote, type_identity_t<T> value, int pe,
                                   Status* status = nullptr) {
    expect_integer<T>();
    return exchange(remote, request(atomics::Op::bit_xor, value), pe, status);
  }

  // ---- With the old value written to *fetched, in the heap or in registered memory: there after
  // quiet. On 8-byte words they return at once. On 4-byte words they wait for the result all the
  // same: NICs return it big-endian.

  template <class T>
  GDAKIT_DEVICE Status atomic_fetch_nbi(T* fetched, const T* remote, int pe,
                                        Batch batch = Batch::last) {
    expect_number<T>();
    return exchange_nbi(fetched, remote, nothing(), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_fetch_add_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                                            Batch batch = Batch::last) {
    expect_integer<T>();
    return exchange_nbi(fetched, remote, request(atomics::Op::add, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_fetch_inc_nbi(T* fetched, T* remote, int pe,
                                            Batch batch = Batch::last) {
    return atomic_fetch_add_nbi(fetched, remote, T{1}, pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_swap_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                                       Batch batch = Batch::last) {
    expect_number<T>();
    return exchange_nbi(fetched, remote, request(atomics::Op::set, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_compare_swap_nbi(T* fetched, T* remote, type_identity_t<T> expected,
                                               type_identity_t<T> desired, int pe,
                                               Batch batch = Batch::last) {
    expect_integer<T>();
    return exchange_nbi(fetched, remote, request(atomics::Op::compare_swap, desired, expected), pe,
                        batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_fetch_and_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                                            Batch batch = Batch::last) {
    expect_integer<T>();
    return exchange_nbi(fetched, remote, request(atomics::Op::bit_and, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_fetch_or_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                                           Batch batch = Batch::last) {
    expect_integer<T>();
    return exchange_nbi(fetched, remote, request(atomics::Op::bit_or, value), pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_fetch_xor_nbi(T* fetched, T* remote, type_identity_t<T> value, int pe,
                                            Batch batch = Batch::last) {
    expect_integer<T>();
    return exchange_nbi(fetched, remote, request(atomics::Op::bit_xor, value), pe, batch);
  }

 private:
  GDAKIT_DEVICE static atomics::Request nothing() { return {atomics::Op::add, 0}; }

  template <class T>
  GDAKIT_DEVICE static constexpr void expect_integer() {
    static_assert(atomics::is_integer<T>,
                  "this atomic takes int, long, long long or an unsigned form of these");
  }
  template <class T>
  GDAKIT_DEVICE static constexpr void expect_number() {
    static_assert(atomics::is_number<T>,
                  "this atomic takes int, long, long long or an unsigned form of these, float or "
                  "double");
  }

  template <class T>
  GDAKIT_DEVICE static atomics::Request request(atomics::Op op, T operand, T compare = T{}) {
    return {op, widen_bits(operand), widen_bits(compare)};
  }

  template <class T>
  GDAKIT_DEVICE Status change(T* remote, const atomics::Request& request, int pe, Batch batch) {
    return atomics::post(self().poster(), remote, request, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE T exchange(const T* remote, const atomics::Request& request, int pe,
                           Status* status) {
    const Fetched<T> fetched = atomics::fetch(self().poster(), remote, request, pe);
    give(status, fetched.status);
    return fetched.value;
  }
  template <class T>
  GDAKIT_DEVICE Status exchange_nbi(T* fetched, const T* remote, const atomics::Request& request,
                                    int pe, Batch batch) {
    return atomics::fetch_nbi(self().poster(), remote, request, pe, fetched, batch);
  }

  GDAKIT_DEVICE Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace gdakit
