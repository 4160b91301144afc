#include "backends/mlx5/libraries.h"

#include <dlfcn.h>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const Libraries::Names& names) {
  const Result<Libraries> libraries = Libraries::load(names);
  EXPECT_FALSE(libraries);
  if (libraries) return {};
  EXPECT_EQ(libraries.error().code(), Code::unavailable);
  return libraries.error().message();
}

// The file of a library that this process has loaded.
std::string file_of(void* handle) {
  Dl_info info{};
  void* const function = dlsym(handle, "ibv_get_device_list");
  return dladdr(function, &info) != 0 ? std::filesystem::canonical(info.dli_fname).string() : "";
}

class LibrariesOfTheDistribution : public testing::Test {
 protected:
  void SetUp() override {
    const Result<const Libraries*> libraries = Libraries::of_process();
    if (!libraries) GTEST_SKIP() << libraries.error().message();
  }
};

TEST(Libraries, ThatAreAbsentAreNamedWithTheirPackages) {
  EXPECT_THAT(refusal({.verbs = "libibverbs.so.99"}),
              AllOf(HasSubstr("libibverbs.so.99"), HasSubstr("ibverbs-providers")));
}

TEST(Libraries, ThatLackAFunctionAreNamedWithIt) {
  EXPECT_THAT(
      refusal({.verbs = GDAKIT_STUB_LIBRARY}),
      AllOf(HasSubstr(GDAKIT_STUB_LIBRARY),
            HasSubstr("has no ibv_get_device_list of version IBVERBS_1.1"), HasSubstr("update")));
}

TEST_F(LibrariesOfTheDistribution, HaveAllFunctions) {
  const Libraries& libraries = **Libraries::of_process();
  EXPECT_NE(libraries.get_device_list, nullptr);
  EXPECT_NE(libraries.open_device, nullptr);
}

TEST_F(LibrariesOfTheDistribution, WithoutLibmlx5AreRefused) {
  EXPECT_THAT(refusal({.mlx5 = "libmlx5.so.99"}), HasSubstr("libmlx5.so.99"));
  EXPECT_THAT(refusal({.mlx5 = GDAKIT_STUB_LIBRARY}), HasSubstr("mlx5dv_is_supported"));
}

// Last: the copy stays loaded as long as the test looks.
TEST_F(LibrariesOfTheDistribution, ThatAreThereTwiceAreNamedBoth) {
  const std::string first = file_of(dlopen("libibverbs.so.1", RTLD_NOW));
  const auto second = std::filesystem::path(testing::TempDir()) / "libibverbs.so.1.copy";
  std::filesystem::copy_file(first, second, std::filesystem::copy_options::overwrite_existing);
  void* const copy = dlopen(second.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(copy, nullptr) << dlerror();
  EXPECT_THAT(refusal({}), AllOf(HasSubstr(first), HasSubstr(std::filesystem::canonical(second))));
  dlclose(copy);
  std::filesystem::remove(second);
  EXPECT_TRUE(Libraries::load({}));
}

}  // namespace
}  // namespace gdakit::mlx5
