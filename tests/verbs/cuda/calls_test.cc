// What a program's calls of CUDA's driver become under `gdakit verbs`, in each way by which
// programs find these functions. To be run as
//
//   gdakit verbs -- verbs_cuda_test
//
// It links nothing of gdakit, and a driver that only stands in for CUDA's.
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/verbs/cuda/driver.h"

namespace {

constexpr std::size_t kPage = 4096;

using Register = int(void*, std::size_t, unsigned);
using GetAddress = int(const char*, void**, int, unsigned long long);
using GetAddressV2 = int(const char*, void**, int, unsigned long long, int*);

template <class Function>
Function* by_dlsym(const char* name) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(driver, nullptr);
  return reinterpret_cast<Function*>(::dlsym(driver, name));
}

// A page of a NIC's registers, and one of other memory.
class Pages {
 public:
  Pages() : file_(::open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC)) {
    EXPECT_GE(file_, 0);
    registers = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    other = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(registers, MAP_FAILED);
    EXPECT_NE(other, MAP_FAILED);
  }
  ~Pages() {
    ::munmap(registers, kPage);
    ::munmap(other, kPage);
    ::close(file_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void* registers = nullptr;
  void* other = nullptr;

 private:
  const int file_;
};

struct Way {
  std::string name;
  std::function<Register*()> find;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class HostRegister : public testing::TestWithParam<Way> {};

Register* by_get_address(GetAddress* get) {
  void* found = nullptr;
  EXPECT_EQ(get("cuMemHostRegister", &found, 11000, 0), kCudaSuccess);
  return reinterpret_cast<Register*>(found);
}

Register* by_get_address_v2(GetAddressV2* get) {
  void* found = nullptr;
  int reason = -1;
  EXPECT_EQ(get("cuMemHostRegister", &found, 12000, 0, &reason), kCudaSuccess);
  EXPECT_EQ(reason, 0);
  return reinterpret_cast<Register*>(found);
}

// As CUDA's runtime does.
Register* by_its_own_address() {
  void* get = nullptr;
  EXPECT_EQ(
      by_dlsym<GetAddressV2>("cuGetProcAddress_v2")("cuGetProcAddress", &get, 12000, 0, nullptr),
      kCudaSuccess);
  return by_get_address_v2(reinterpret_cast<GetAddressV2*>(get));
}

INSTANTIATE_TEST_SUITE_P(
    , HostRegister,
    testing::Values(Way{"Linked", [] { return &cuMemHostRegister_v2; }},
                    Way{"ByDlsym", [] { return by_dlsym<Register>("cuMemHostRegister_v2"); }},
                    Way{"ByGetProcAddress",
                        [] { return by_get_address(by_dlsym<GetAddress>("cuGetProcAddress")); }},
                    Way{"ByGetProcAddressV2",
                        [] {
                          return by_get_address_v2(by_dlsym<GetAddressV2>("cuGetProcAddress_v2"));
                        }},
                    Way{"ByLinkedGetProcAddress", [] { return by_get_address(&cuGetProcAddress); }},
                    Way{"ByGetProcAddressOfItself", by_its_own_address}),
    [](const auto& of) { return of.param.name; });

TEST_P(HostRegister, TakesRegistersForMemory) {
  const Pages pages;
  Register* const registers = GetParam().find();
  EXPECT_EQ(registers(pages.registers, kPage, kAsPortable | kAsIoMemory), kCudaSuccess);
  EXPECT_EQ(fake_registered_flags(), kAsPortable);
  auto* const middle = static_cast<std::byte*>(pages.registers) + 0x800;
  EXPECT_EQ(registers(middle, 8, kAsIoMemory), kCudaSuccess);
}

TEST_P(HostRegister, LeavesAllElseAsItIs) {
  const Pages pages;
  Register* const registers = GetParam().find();
  EXPECT_EQ(registers(pages.other, kPage, kAsPortable | kAsIoMemory), kCudaInvalidValue);
  EXPECT_EQ(fake_registered_flags(), kAsPortable | kAsIoMemory);
  EXPECT_EQ(registers(pages.other, kPage, kAsPortable), kCudaSuccess);
  EXPECT_EQ(fake_registered_flags(), kAsPortable);
  // Partly beyond the registers.
  auto* const end = static_cast<std::byte*>(pages.registers) + kPage - 8;
  EXPECT_EQ(registers(end, 64 * kPage, kAsIoMemory), kCudaInvalidValue);
}

TEST(Dlsym, MeansWhatItsCallerMeans) {
  // Next to this program is the preloaded library; next to that would be libc.
  void* const next = ::dlsym(RTLD_NEXT, "ioctl");
  Dl_info found{};
  ASSERT_NE(::dladdr(next, &found), 0);
  EXPECT_NE(std::string(found.dli_fname).find("libgdakit-verbs"), std::string::npos)
      << found.dli_fname;
}

TEST(Dlsym, FindsNothingThatIsNotThere) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(::dlsym(driver, "cuNoSuchFunction"), nullptr);
  EXPECT_NE(::dlerror(), nullptr);
  void* found = driver;
  EXPECT_NE(cuGetProcAddress("cuNoSuchFunction", &found, 11000, 0), kCudaSuccess);
  EXPECT_EQ(found, nullptr);
}

}  // namespace
