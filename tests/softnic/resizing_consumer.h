// A completion queue's consumer that moves it to other entries, as libmlx5 does: it copies what it
// has not polled behind the place of the marker, and polls on there.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

class ResizingConsumer {
 public:
  ResizingConsumer(std::uint32_t log_entries, CqeSize size) : now_(make(log_entries, size)) {
    store_arm_word(Be32{format::kCqNotArmed});
  }

  CqAttributes attributes(UarNumber uar = 0) const {
    CqAttributes given;
    given.entries = now_.address();
    given.log_entries = now_.log_entries;
    given.cqe_size = now_.size;
    given.doorbell_record = host_address(record_.data());
    given.uar = uar;
    return given;
  }

  std::optional<format::Cqe64> poll() {
    const auto cqe = now_.look(consumer_);
    if (!cqe) return std::nullopt;
    ++consumer_;
    store_consumer();
    return cqe;
  }

  // Entries to move to, which are there until adopt() or give_up().
  CqResize prepare(std::uint32_t log_entries, CqeSize size) {
    next_ = make(log_entries, size);
    return {next_->address(), log_entries, size};
  }
  void give_up() { next_.reset(); }
  // The CQ has moved there.
  void adopt() {
    std::uint64_t from = consumer_;
    std::optional<format::Cqe64> cqe;
    for (; (cqe = now_.look(from)); ++from) {
      if (format::cqe_opcode(cqe->op_own) == format::CqeOpcode::resized) break;
      const std::uint64_t to = from + 1;
      const auto rest = static_cast<std::uint8_t>(cqe->op_own & ~1u);
      cqe->op_own = static_cast<std::uint8_t>(rest | next_->owner(to));
      next_->put(to, *cqe);
    }
    ASSERT_TRUE(cqe) << "there is no marker";
    now_ = std::move(*next_);
    next_.reset();
    ++consumer_;  // its record stays as it is until the next poll
  }

  void store_arm(std::uint32_t events_read, bool solicited_only = false) {
    store_arm_word(format::cq_arm(events_read, solicited_only, consumer_));
  }
  std::uint64_t capacity() const { return std::uint64_t{1} << now_.log_entries; }
  std::uint64_t consumer() const { return consumer_; }

 private:
  struct Entries {
    std::uint32_t log_entries;
    CqeSize size;
    std::unique_ptr<Pages> memory;

    DmaAddress address() const { return host_address(memory->data()); }
    std::uint8_t owner(std::uint64_t index) const { return (index >> log_entries) & 1; }
    std::uint8_t* at(std::uint64_t index) const {
      const std::uint64_t slot = index & ((std::uint64_t{1} << log_entries) - 1);
      return memory->data() + (slot + 1) * entry_bytes(size) - sizeof(format::Cqe64);
    }
    void put(std::uint64_t index, const format::Cqe64& cqe) const {
      std::memcpy(at(index), &cqe, sizeof cqe);
    }
    std::optional<format::Cqe64> look(std::uint64_t index) const {
      format::Cqe64 cqe;
      std::memcpy(&cqe, at(index), sizeof cqe);
      const bool is_there = format::cqe_opcode(cqe.op_own) != format::CqeOpcode::invalid &&
                            (cqe.op_own & 1) == owner(index);
      return is_there ? std::optional(cqe) : std::nullopt;
    }
  };

  static Entries make(std::uint32_t log_entries, CqeSize size) {
    Entries entries{log_entries, size,
                    std::make_unique<Pages>(std::size_t{entry_bytes(size)} << log_entries)};
    std::memset(entries.memory->data(), format::kInvalidCqeByte, entries.memory->size());
    return entries;
  }
  void store_consumer() {
    const Be32 index{static_cast<std::uint32_t>(consumer_ & format::kCqIndexMask)};
    std::memcpy(record_.data(), &index, sizeof index);
  }
  void store_arm_word(Be32 word) {
    std::memcpy(record_.data() + offsetof(format::CqDoorbellRecord, arm), &word, sizeof word);
  }

  Entries now_;
  std::optional<Entries> next_;
  Pages record_{8};
  std::uint64_t consumer_ = 0;
};

}  // namespace gdakit::softnic::test
