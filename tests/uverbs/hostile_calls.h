// Calls that are wrong in every way, by the bytes of an input: of every object, method and command,
// with attributes that are absent, cut, random or too long, and handles that are wrong or gone.
//
// One call in some is right, so that there are objects for the others to be wrong about.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/devx_mailboxes.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "core/base/file_descriptor.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/dct.h"
#include "core/format/prm/mkey.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/rmp.h"
#include "core/format/prm/srq.h"
#include "tests/softnic/fuzz_input.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs::test {

// Memory that calls name, with nothing before and behind it: a NIC that goes beyond ends the
// process. It outlives every device, and only NICs and calls touch it.
std::byte* hostile_memory();
inline constexpr std::size_t kHostileBytes = 1 << 16;

class HostileClient {
 public:
  // Several may share an input.
  HostileClient(Context& context, softnic::test::Input& input) : context_(context), input_(input) {}

  // Whose objects' numbers it names at times, as if they were its own.
  void set_other(const HostileClient& other) { other_ = &other; }
  // The firmware commands by DEVX that have been carried out.
  const std::set<format::prm::Opcode>& carried_out() const { return carried_out_; }
  bool has_joined() const { return has_joined_; }
  // Makes one call, or rings a doorbell. Returns what is wrong with the answer, in a sentence;
  // empty: nothing.
  std::string call();

 private:
  enum class Kind : std::uint8_t {
    pd,
    mr,
    cq,
    qp,
    ah,
    uar,
    dm,
    devx,
    umem,
    xrcd,
    srq,
    channel,
    count
  };
  static constexpr std::size_t kRemembered = 4;  // of each kind
  // What firmware commands name by numbers, of those that such commands have made.
  enum class Numbered : std::uint8_t { pd, cq, rmp, qp, dct, umem, mkey, xrcd, counter_set, count };

  // One in so many.
  bool rarely(std::uint32_t times) { return input_.below(times) == 0; }
  std::uint64_t number();
  std::uint64_t address();
  std::uint64_t place(std::size_t bytes, std::size_t alignment);
  std::uint64_t handle(Kind kind);
  void remember(Kind kind, std::uint32_t handle);

  // Adds an attribute, mostly as it is asked for.
  void add(Call& call, std::uint16_t id, const void* from, std::size_t size);
  void add_handle(Call& call, std::uint16_t id, Kind kind);
  void add_out(Call& call, std::uint16_t id, std::size_t size);
  template <class T>
  void add(Call& call, std::uint16_t id, T value) {
    if (rarely(24)) change(&value, sizeof value);
    add(call, id, static_cast<const void*>(&value), sizeof value);
  }
  void change(void* bytes, std::size_t size);
  void add_mailbox(Call& call, std::uint16_t id, format::prm::Opcode opcode,
                   std::span<std::uint8_t> in);
  void add_more(Call& call);
  std::string make(Call& call);
  std::string make(Call& call, std::uint16_t id, Kind kind);

  std::string make_pd();
  std::string make_mr();
  std::string make_dm();
  std::string make_dm_mr();
  std::string make_uar();
  std::string make_channel();
  std::string make_errors();
  std::string make_cq();
  std::string make_xrcd();
  std::string make_srq();
  std::string make_qp();
  std::string make_target();
  std::string make_dc_end();
  std::string make_ah();
  std::string modify_qp();
  std::string query_qp();
  std::string resize_cq();
  std::string alloc_mw();
  std::string change_group();
  std::uint32_t number_of(Numbered kind);
  void remember_number(Numbered kind, std::uint32_t number);
  // An object that firmware commands change and ask about: of DEVX, or of verbs.
  struct Known {
    DevxName name;
    std::uint32_t handle = 0;
    std::uint32_t steps = 0;  // of a queue pair: on its way from RESET to RTS
  };
  void know(const Known& known);
  Known& known(DevxKind kind);
  void add_known(Call& call, std::uint16_t id, const Known& known);
  std::uint64_t offset() { return std::uint64_t{64} * input_.below(32); }
  void fill(format::prm::Mailbox<format::prm::CreateCqIn>& in);
  void fill(format::prm::Mailbox<format::prm::CreateMkeyIn>& in);
  void fill(format::prm::Mailbox<format::prm::CreateQpIn>& in);
  void fill(format::prm::Mailbox<format::prm::CreateRmpIn>& in);
  void fill(format::prm::Mailbox<format::prm::CreateXrcSrqIn>& in);
  void fill(format::prm::Mailbox<format::prm::CreateDctIn>& in);
  void fill_change(DevxKind kind, std::span<std::uint8_t> in);
  void add_entries(std::vector<std::uint8_t>& in);
  std::string make_umem();
  template <class Layout>
  std::string make_devx(format::prm::Opcode opcode, Numbered kind);
  std::string make_devx();
  std::string change_devx();
  std::string ask_devx();
  std::string ask_device();
  std::string ask_later(Call& call);
  int open_file(UniqueFileDescriptor& file, Call& call, std::uint16_t id);
  std::string subscribe();
  std::string destroy();
  std::string query();
  std::string ring();
  std::string any_method();
  std::string any_write();

  Context& context_;
  softnic::test::Input& input_;
  const HostileClient* other_ = nullptr;
  std::array<std::array<std::uint32_t, kRemembered>, static_cast<std::size_t>(Kind::count)>
      handles_{};
  std::array<std::array<std::uint32_t, kRemembered>, static_cast<std::size_t>(Numbered::count)>
      numbers_{};
  std::array<Known, 16> known_{};
  std::uint32_t uar_number_ = 0;
  std::unique_ptr<UarMapping> registers_;  // of that page
  std::uint32_t qpn_ = 0;                  // of the queue pair made last
  UniqueFileDescriptor events_, answers_;
  int last_error_ = 0;
  std::uint32_t last_handle_ = 0;
  std::uint64_t last_opcode_ = 0;  // of the mailbox of the call that is made
  std::set<format::prm::Opcode> carried_out_;
  bool has_joined_ = false;
};

}  // namespace gdakit::softnic::uverbs::test
