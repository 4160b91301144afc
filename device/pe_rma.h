// Pe's calls that move data: put and get, their strided forms, and puts with a signal.
#pragma once

#include "core/base/type_identity.h"
#include "device/signal.h"
#include "device/strided.h"
#include "device/value_bits.h"

namespace gdakit {

// A part of Pe, which is `Self`.
template <class Self, class Group>
class RmaCalls {
 public:
  // ---- Put and get. `count` elements of T, which is trivially copyable and of any size; source
  // and destination must not overlap.

  template <class T>
  GDAKIT_DEVICE Status put(T* remote, const T* local, std::size_t count, int pe) {
    return self().finish(put_async(remote, local, count, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status put_nbi(T* remote, const T* local, std::size_t count, int pe,
                               Batch batch = Batch::last) {
    return put_async(remote, local, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket put_async(T* remote, const T* local, std::size_t count, int pe,
                                 Batch batch = Batch::last) {
    return put_bytes_async(remote, local, bytes_of<T>(count), pe, batch);
  }

  template <class T>
  GDAKIT_DEVICE Status get(T* local, const T* remote, std::size_t count, int pe) {
    return self().finish(get_async(local, remote, count, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status get_nbi(T* local, const T* remote, std::size_t count, int pe,
                               Batch batch = Batch::last) {
    return get_async(local, remote, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket get_async(T* local, const T* remote, std::size_t count, int pe,
                                 Batch batch = Batch::last) {
    return get_bytes_async(local, remote, bytes_of<T>(count), pe, batch);
  }

  // The same for memory of no type: OpenSHMEM's putmem and getmem.
  GDAKIT_DEVICE Status put_bytes(void* remote, const void* local, std::size_t bytes, int pe) {
    return self().finish(put_bytes_async(remote, local, bytes, pe));
  }
  GDAKIT_DEVICE Status put_bytes_nbi(void* remote, const void* local, std::size_t bytes, int pe,
                                     Batch batch = Batch::last) {
    return put_bytes_async(remote, local, bytes, pe, batch).status;
  }
  GDAKIT_DEVICE Ticket put_bytes_async(void* remote, const void* local, std::size_t bytes, int pe,
                                       Batch batch = Batch::last) {
    return rma::post(self().poster(), Group{}, rma::kPut, remote, local, bytes, pe, batch);
  }
  GDAKIT_DEVICE Status get_bytes(void* local, const void* remote, std::size_t bytes, int pe) {
    return self().finish(get_bytes_async(local, remote, bytes, pe));
  }
  GDAKIT_DEVICE Status get_bytes_nbi(void* local, const void* remote, std::size_t bytes, int pe,
                                     Batch batch = Batch::last) {
    return get_bytes_async(local, remote, bytes, pe, batch).status;
  }
  GDAKIT_DEVICE Ticket get_bytes_async(void* local, const void* remote, std::size_t bytes, int pe,
                                       Batch batch = Batch::last) {
    return rma::post(self().poster(), Group{}, rma::kGet, remote, local, bytes, pe, batch);
  }

  // One value of 1, 2, 4 or 8 bytes. A put travels inside the WQE: its source may be reused at
  // once. A value that is aligned to its size arrives, and is read, as a whole. Calls of single
  // threads, whatever the group.
  template <class T>
  GDAKIT_DEVICE Status put_value(T* remote, type_identity_t<T> value, int pe,
                                 Batch batch = Batch::last) {
    static_assert(is_one_word<T>, "put_value takes a T of 1, 2, 4 or 8 bytes; put takes any");
    return rma::post_value(self().poster(), remote, value, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE T get_value(const T* remote, int pe, Status* status = nullptr) {
    static_assert(is_one_word<T>, "get_value takes a T of 1, 2, 4 or 8 bytes; get takes any");
    const Fetched<T> fetched = rma::get_value(self().poster(), remote, pe);
    give(status, fetched.status);
    return fetched.value;
  }

  // ---- Strided put and get: element i of `count` lies i * stride elements behind the address that
  // is given. Strides are in elements and may be negative, and that of the source 0: one element is
  // then copied to all places. A destination whose stride is 0 is refused
  // (StatusCode::invalid_argument) unless `count` is at most 1. T, registration and completion are
  // as with put and get; elements that are put by value inside their WQEs (1, 2, 4 or 8 bytes) are
  // read before the call returns, whatever the form. In which order the elements arrive is not
  // said. Up to a quarter of the queue's depth the elements share one doorbell and one completion,
  // or two, where one of the queue's quarters ends among them; then each quarter makes one more.
  // Source: OpenSHMEM 1.5 sections 9.5.3 and 9.5.7, which have positive strides only.

  template <class T>
  GDAKIT_DEVICE Status iput(T* remote, const T* local, std::ptrdiff_t remote_stride,
                            std::ptrdiff_t local_stride, std::size_t count, int pe) {
    return self().finish(iput_async(remote, local, remote_stride, local_stride, count, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status iput_nbi(T* remote, const T* local, std::ptrdiff_t remote_stride,
                                std::ptrdiff_t local_stride, std::size_t count, int pe,
                                Batch batch = Batch::last) {
    return iput_async(remote, local, remote_stride, local_stride, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket iput_async(T* remote, const T* local, std::ptrdiff_t remote_stride,
                                  std::ptrdiff_t local_stride, std::size_t count, int pe,
                                  Batch batch = Batch::last) {
    return look_closer(self().poster(), [=](const auto& poster) {
      return strided::post<T>(poster, Group{}, rma::kPut, remote, local, remote_stride,
                              local_stride, count, pe, batch);
    });
  }
  template <class T>
  GDAKIT_DEVICE Status iget(T* local, const T* remote, std::ptrdiff_t local_stride,
                            std::ptrdiff_t remote_stride, std::size_t count, int pe) {
    return self().finish(iget_async(local, remote, local_stride, remote_stride, count, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status iget_nbi(T* local, const T* remote, std::ptrdiff_t local_stride,
                                std::ptrdiff_t remote_stride, std::size_t count, int pe,
                                Batch batch = Batch::last) {
    return iget_async(local, remote, local_stride, remote_stride, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket iget_async(T* local, const T* remote, std::ptrdiff_t local_stride,
                                  std::ptrdiff_t remote_stride, std::size_t count, int pe,
                                  Batch batch = Batch::last) {
    return look_closer(self().poster(), [=](const auto& poster) {
      return strided::post<T>(poster, Group{}, rma::kGet, remote, local, remote_stride,
                              local_stride, count, pe, batch);
    });
  }

  // ---- Signals: 64-bit words of the symmetric heap, changed only by these calls. pe_words.h has
  // those that read them.

  template <class T>
  GDAKIT_DEVICE Status put_signal(T* remote, const T* local, std::size_t count, std::uint64_t* word,
                                  std::uint64_t value, SignalOp op, int pe) {
    return self().finish(put_signal_async(remote, local, count, word, value, op, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status put_signal_nbi(T* remote, const T* local, std::size_t count,
                                      std::uint64_t* word, std::uint64_t value, SignalOp op, int pe,
                                      Batch batch = Batch::last) {
    return put_signal_async(remote, local, count, word, value, op, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket put_signal_async(T* remote, const T* local, std::size_t count,
                                        std::uint64_t* word, std::uint64_t value, SignalOp op,
                                        int pe, Batch batch = Batch::last) {
    return put_signal_bytes_async(remote, local, bytes_of<T>(count), word, value, op, pe, batch);
  }

  GDAKIT_DEVICE Status put_signal_bytes(void* remote, const void* local, std::size_t bytes,
                                        std::uint64_t* word, std::uint64_t value, SignalOp op,
                                        int pe) {
    return self().finish(put_signal_bytes_async(remote, local, bytes, word, value, op, pe));
  }
  GDAKIT_DEVICE Status put_signal_bytes_nbi(void* remote, const void* local, std::size_t bytes,
                                            std::uint64_t* word, std::uint64_t value, SignalOp op,
                                            int pe, Batch batch = Batch::last) {
    return put_signal_bytes_async(remote, local, bytes, word, value, op, pe, batch).status;
  }
  GDAKIT_DEVICE Ticket put_signal_bytes_async(void* remote, const void* local, std::size_t bytes,
                                              std::uint64_t* word, std::uint64_t value, SignalOp op,
                                              int pe, Batch batch = Batch::last) {
    return signal::post(self().poster(), Group{}, remote, local, bytes, word, value, op, pe, batch);
  }

  // The signal alone; by a single thread, whatever the group.
  GDAKIT_DEVICE Status signal(std::uint64_t* word, std::uint64_t value, SignalOp op, int pe,
                              Batch batch = Batch::last) {
    return signal::update(self().poster(), word, signal::request(op, value), pe, batch).status;
  }

 private:
  GDAKIT_DEVICE Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace gdakit
