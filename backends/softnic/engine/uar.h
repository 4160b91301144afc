// Doorbell pages in host memory, and the poller that turns stores to them into Engine::doorbell
// calls.
//
//   page   0x000                      0x800                    0xc00    0x1000
//          | control words, if it is  | doorbell words (UarType)  | not read |
//          | one of type registers    |
//
// Control words arm completion queues (format::kUarCqArm), or are for what this NIC has none of.
// Memory is no FIFO: a word that is stored to twice before the poller looks shows the later
// doorbell or arm only. The engine finds the lost one in the doorbell record. Words that have ever
// rung are looked at in every poll, the others when there is time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/softnic/engine/engine.h"
#include "backends/softnic/objects/attributes.h"
#include "core/base/result.h"

namespace gdakit::softnic {

// Where doorbell pages come from. Safe from any thread.
class HostPages {
 public:
  virtual ~HostPages() = default;
  // A zeroed page of format::kUarPageBytes, page-aligned, which the threads that ring can store to.
  virtual Result<void*> take() = 0;
  virtual void give_back(void* page) = 0;
};

// Pages of this process.
std::shared_ptr<HostPages> make_host_pages();

class UarPages {
 public:
  // Null: make_host_pages().
  explicit UarPages(std::shared_ptr<HostPages> source = nullptr);

  // A zeroed page of 4 KiB, page-aligned, for doorbells to `uar`.
  Result<void*> add(UarNumber uar, UarType type);
  void remove(UarNumber uar);

  // Rings for every word that has changed. `thorough` looks at a page's worth of cold ones, else at
  // a few. True if any had changed.
  bool poll(Engine& engine, bool thorough);
  // Looks at all words; at those of one page.
  void poll_all(Engine& engine);
  void poll_page(Engine& engine, UarNumber uar);

 private:
  struct GiveBack {
    GiveBack() : source(nullptr) {}
    explicit GiveBack(HostPages* from) : source(from) {}
    HostPages* source;
    void operator()(void* page) const { source->give_back(page); }
  };
  struct Page {
    UarNumber uar = 0;
    std::unique_ptr<void, GiveBack> memory;
    UarType type = UarType::registers;
    std::vector<std::uint64_t> seen;  // by word, and never moved
    std::vector<bool> hot;
  };
  struct HotWord {
    const std::uint64_t* word = nullptr;
    std::uint64_t* seen = nullptr;  // of its page
    UarNumber uar = 0;
    std::uint32_t offset = 0;
  };

  bool look_at(Engine& engine, Page& page, std::size_t word);
  void look_at_all(Engine& engine, Page& page);
  bool poll_some(Engine& engine, Page& page, std::size_t begin, std::size_t end);

  std::shared_ptr<HostPages> source_;
  std::vector<Page> pages_;
  std::vector<HotWord> hot_;
  std::size_t next_page_ = 0;
  std::size_t next_word_ = 0;
};

}  // namespace gdakit::softnic
