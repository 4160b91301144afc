// The memory of a PE that kernels use. All of it lies in the symmetric heap.
//
//   source PE                              owner of expert e
//   ---------                              -----------------
//   tokens[t]
//   send[t]  ------- put, a message ---->  received[local e][source][slot]
//            ---- add messages + 1 ----->  received_count[local e][source]
//                                            the expert changes the values in place
//   combined[t][j]  <----- put, the values ---
//   finished[e]     <----- add 1 -------------
//   output[t]
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/host/context.h"
#include "examples/moe_dispatch/model.h"
#include "examples/moe_dispatch/shape.h"

namespace moe {

// What stands before the values of a message. Its size keeps the values aligned.
struct alignas(32) MessageHeader {
  std::uint32_t token;  // its number in the source's batch
  Route route;
};
static_assert(sizeof(MessageHeader) == 32);

struct Message {
  std::byte* data;

  GDAKIT_HOST_DEVICE MessageHeader& header() const {
    return *reinterpret_cast<MessageHeader*>(data);
  }
  GDAKIT_HOST_DEVICE float* values() const {
    return reinterpret_cast<float*>(data + sizeof(MessageHeader));
  }
};

// The kernels that send, each of which counts its blocks when they are done.
enum SendingKernel : std::uint32_t { kDispatch, kAnswer, kSendingKernels };

// A kernel takes it by value. It owns nothing: the context's heap does.
struct Buffers {
  Shape shape;

  std::byte* send;                // [batch] messages, the sources of puts
  std::byte* received;            // [local expert][source][batch] messages
  std::uint64_t* received_count;  // [local expert][source]; 0 while the count is not known yet
  float* combined;                // [batch][top_k][hidden]
  std::uint64_t* finished;        // [expert], counts steps and never goes back

  // Of no concern to other PEs.
  Token* tokens;               // [batch]
  float* output;               // [batch][hidden]
  std::uint64_t* slots_taken;  // [expert], messages of this step
  std::uint64_t* blocks_done;  // [kSendingKernels], of this step

  GDAKIT_HOST_DEVICE std::uint64_t message_bytes() const {
    return sizeof(MessageHeader) + shape.hidden * sizeof(float);
  }
  // From the beginning of a message to that of the next one.
  GDAKIT_HOST_DEVICE std::uint64_t message_stride() const {
    return (message_bytes() + sizeof(MessageHeader) - 1) / sizeof(MessageHeader) *
           sizeof(MessageHeader);
  }
  GDAKIT_HOST_DEVICE Message send_message(std::uint32_t token) const {
    return {send + token * message_stride()};
  }
  GDAKIT_HOST_DEVICE Message received_message(std::uint32_t local_expert, int source,
                                              std::uint64_t slot) const {
    return {received + (pair(local_expert, source) * shape.batch + slot) * message_stride()};
  }
  GDAKIT_HOST_DEVICE std::uint64_t* count_word(std::uint32_t local_expert, int source) const {
    return received_count + pair(local_expert, source);
  }
  GDAKIT_HOST_DEVICE float* combined_values(std::uint32_t token, std::uint32_t j) const {
    return combined + (std::uint64_t{token} * shape.top_k + j) * shape.hidden;
  }
  GDAKIT_HOST_DEVICE float* output_values(std::uint32_t token) const {
    return output + std::uint64_t{token} * shape.hidden;
  }

 private:
  GDAKIT_HOST_DEVICE std::uint64_t pair(std::uint32_t local_expert, int source) const {
    return std::uint64_t{local_expert} * shape.pes + static_cast<std::uint64_t>(source);
  }
};

// Collective.
gdakit::Result<Buffers> allocate_buffers(gdakit::Context& context, const Shape& shape);

}  // namespace moe
