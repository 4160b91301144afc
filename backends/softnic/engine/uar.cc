#include "backends/softnic/engine/uar.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/mman.h>

#include "core/format/cq_doorbell.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kWordsPerLook = 8;  // a cache line of a dense page

constexpr std::uint32_t stride_of(UarType type) {
  return type == UarType::dense ? sizeof(std::uint64_t) : format::kUarHalfBytes;
}

// Of a page of type registers.
constexpr std::array kControlWords = {format::kUarCqArm, format::kUarEqArm, format::kUarEqUpdate,
                                      format::kUarNoRecordDoorbell};

constexpr std::size_t control_words(UarType type) {
  return type == UarType::dense ? 0 : kControlWords.size();
}

constexpr std::size_t words_of(UarType type) {
  constexpr std::uint32_t kBytes = format::kUarDoorbellEnd - format::kUarDoorbellBegin;
  return control_words(type) + kBytes / stride_of(type);
}
static_assert(words_of(UarType::registers) <= format::kDoorbellsPerUar);

constexpr std::uint32_t offset_of(UarType type, std::size_t word) {
  const std::size_t controls = control_words(type);
  if (word < controls) return kControlWords[word];
  const auto register_word = static_cast<std::uint32_t>(word - controls);
  return format::kUarDoorbellBegin + register_word * stride_of(type);
}

// Acquire: the engine reads the WQEs that were written before the doorbell was stored.
std::uint64_t load(const std::uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

class MappedPages final : public HostPages {
 public:
  Result<void*> take() override {
    void* page = ::mmap(nullptr, format::kUarPageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
      return Error::from_errno("alloc_uar: mapping a doorbell page failed", errno);
    }
    return page;
  }
  void give_back(void* page) override { ::munmap(page, format::kUarPageBytes); }
};

}  // namespace

std::shared_ptr<HostPages> make_host_pages() { return std::make_shared<MappedPages>(); }

UarPages::UarPages(std::shared_ptr<HostPages> source)
    : source_(source != nullptr ? std::move(source) : make_host_pages()) {}

Result<void*> UarPages::add(UarNumber uar, UarType type) {
  const Result<void*> taken = source_->take();
  if (!taken) return taken;
  void* const memory = *taken;
  Page page;
  page.uar = uar;
  page.memory = {memory, GiveBack{source_.get()}};
  page.type = type;
  page.seen.assign(words_of(type), 0);
  page.hot.assign(words_of(type), false);
  pages_.push_back(std::move(page));
  hot_.reserve(pages_.size() * format::kDoorbellsPerUar);
  return memory;
}

void UarPages::remove(UarNumber uar) {
  std::erase_if(hot_, [uar](const HotWord& word) { return word.uar == uar; });
  std::erase_if(pages_, [uar](const Page& page) { return page.uar == uar; });
}

// Rings if the word has changed, and then it is hot.
bool UarPages::look_at(Engine& engine, Page& page, std::size_t word) {
  const std::uint32_t offset = offset_of(page.type, word);
  const auto* at = reinterpret_cast<const std::uint64_t*>(
      static_cast<const std::byte*>(page.memory.get()) + offset);
  const std::uint64_t value = load(at);
  if (value == page.seen[word]) return false;
  page.seen[word] = value;
  if (!page.hot[word]) hot_.push_back({at, &page.seen[word], page.uar, offset});
  page.hot[word] = true;
  engine.doorbell(page.uar, offset, value);
  return true;
}

// Those that are not hot.
bool UarPages::poll_some(Engine& engine, Page& page, std::size_t begin, std::size_t end) {
  bool changed = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (!page.hot[i]) changed |= look_at(engine, page, i);
  }
  return changed;
}

bool UarPages::poll(Engine& engine, bool thorough) {
  bool changed = false;
  for (HotWord& hot : hot_) {
    const std::uint64_t value = load(hot.word);
    if (value == *hot.seen) continue;
    *hot.seen = value;
    engine.doorbell(hot.uar, hot.offset, value);
    changed = true;
  }
  if (pages_.empty()) return changed;
  if (next_page_ >= pages_.size()) next_page_ = 0;
  Page& page = pages_[next_page_];
  const std::size_t words = page.hot.size();
  const std::size_t end = thorough ? words : std::min(next_word_ + kWordsPerLook, words);
  changed |= poll_some(engine, page, thorough ? 0 : next_word_, end);
  next_word_ = end == words ? 0 : end;
  if (next_word_ == 0) ++next_page_;
  return changed;
}

void UarPages::look_at_all(Engine& engine, Page& page) {
  for (std::size_t word = 0; word < page.seen.size(); ++word) look_at(engine, page, word);
}

void UarPages::poll_all(Engine& engine) {
  for (Page& page : pages_) look_at_all(engine, page);
}

void UarPages::poll_page(Engine& engine, UarNumber uar) {
  const auto page = std::ranges::find(pages_, uar, &Page::uar);
  if (page != pages_.end()) look_at_all(engine, *page);
}

}  // namespace gdakit::softnic
