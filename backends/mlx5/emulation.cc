#include "backends/mlx5/emulation.h"

#include <dlfcn.h>
#include <utility>

namespace gdakit::mlx5 {
namespace {

// Functions of the library that `gdakit verbs` preloads
// (backends/softnic/uverbs/preload/control.cc).
struct Functions {
  void* (*nic_of)(int) = nullptr;
  void (*pause)(void*) = nullptr;
  void (*resume)(void*) = nullptr;
  bool (*help)() = nullptr;
  void (*expect_help)(void*, bool) = nullptr;
  void (*count_calls)(std::uint64_t*, std::uint64_t*) = nullptr;

  Functions() {
    find("gdakit_verbs_nic_of", nic_of);
    find("gdakit_verbs_pause_nic", pause);
    find("gdakit_verbs_resume_nic", resume);
    find("gdakit_verbs_help_nics", help);
    find("gdakit_verbs_expect_help", expect_help);
    find("gdakit_verbs_count_calls", count_calls);
  }
  bool all() const {
    return nic_of != nullptr && pause != nullptr && resume != nullptr && help != nullptr &&
           expect_help != nullptr && count_calls != nullptr;
  }

 private:
  template <class Function>
  static void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  }
};

const Functions& functions() {
  static const Functions found;
  return found;
}

class PreloadedNic final : public SoftNic {
 public:
  explicit PreloadedNic(void* nic) : nic_(nic) {}
  PreloadedNic(const PreloadedNic&) = delete;
  PreloadedNic& operator=(const PreloadedNic&) = delete;
  ~PreloadedNic() override {
    if (is_helped_) functions().expect_help(nic_, false);
  }
  void pause() override { functions().pause(nic_); }
  void resume() override { functions().resume(nic_); }
  bool progress() override { return functions().help(); }
  void expect_help() override {
    if (!std::exchange(is_helped_, true)) functions().expect_help(nic_, true);
  }

 private:
  void* const nic_;
  bool is_helped_ = false;
};

}  // namespace

bool SoftNic::given() { return functions().all(); }

SoftNic::Calls SoftNic::calls() {
  Calls calls;
  if (given()) functions().count_calls(&calls.by_libraries, &calls.by_others);
  return calls;
}

std::unique_ptr<SoftNic> SoftNic::of(const ibv_context* context) {
  if (!given()) return nullptr;
  void* const nic = functions().nic_of(context->cmd_fd);
  return nic == nullptr ? nullptr : std::make_unique<PreloadedNic>(nic);
}

}  // namespace gdakit::mlx5
