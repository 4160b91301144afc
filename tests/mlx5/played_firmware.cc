// Event queues, doorbell pages, umems, commands and events.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include "core/format/prm/caps.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/query.h"
#include "core/host/counter_table.h"
#include "core/host/q_counters.h"
#include "tests/mlx5/played_calls.h"

struct mlx5dv_devx_obj {
  std::string made_by;     // opcode
  std::uint64_t commands;  // that named it
  std::uint32_t number;
};

namespace gdakit::mlx5::calls {
namespace {

namespace prm = format::prm;

struct DoorbellPage {
  alignas(4096) std::array<std::uint8_t, 4096> registers{};
  mlx5dv_devx_uar uar{};
};
// Dedicated ones, and behind them the two that are everybody's: of memory that is not cached, and
// write-combining.
constexpr std::size_t kDedicatedPages = 2, kUncachedPage = 2, kBlueFlamePage = 3;
std::array<DoorbellPage, kBlueFlamePage + 1> pages;
mlx5dv_devx_uar* page_of(std::size_t index, std::uint32_t number) {
  pages[index].uar.page_id = number;
  spoil(pages[index].uar.page_id);
  const std::size_t addresses = arriving("mlx5dv_devx_alloc_uar", 2);
  if (addresses < 2) pages[index].uar.base_addr = nullptr;
  if (addresses < 1) pages[index].uar.reg_addr = nullptr;
  return &pages[index].uar;
}

int query_eqn(ibv_context*, std::uint32_t, std::uint32_t* eqn) {
  give("mlx5dv_devx_query_eqn", *eqn, played().eqn);
  return code_of("mlx5dv_devx_query_eqn");
}

mlx5dv_devx_uar* alloc_uar(ibv_context*, std::uint32_t type) {
  if (type == MLX5DV_UAR_ALLOC_TYPE_BF) {
    return succeeds("mlx5dv_devx_alloc_uar of BF") ? page_of(kBlueFlamePage, kCombiningPage)
                                                   : nullptr;
  }
  if (type == MLX5DV_UAR_ALLOC_TYPE_NC) {
    return succeeds("mlx5dv_devx_alloc_uar") ? page_of(kUncachedPage, kSharedPage) : nullptr;
  }
  if (!succeeds("mlx5dv_devx_alloc_uar of a dedicated one")) return nullptr;
  const auto made = static_cast<std::uint32_t>(played().live["uar"]++);
  if (made < kDedicatedPages) {
    if (made % played().registers_of_a_page == 0) ++played().next_page;
    return page_of(made, played().next_page - 1);
  }
  --played().live["uar"];
  errno = ENOSPC;
  return nullptr;
}
void free_uar(mlx5dv_devx_uar* page) {
  const auto is = [page](std::size_t index) { return page == &pages[index].uar; };
  if (!is(kUncachedPage) && !is(kBlueFlamePage)) --played().live["uar"];
}

mlx5dv_devx_umem* umem_reg(ibv_context*, mlx5dv_devx_umem_in* in) {
  played().umems.push_back(*in);
  const std::string nth = "mlx5dv_devx_umem_reg_ex " + std::to_string(played().umems.size());
  if (!succeeds(nth)) return nullptr;
  mlx5dv_devx_umem umem{};
  give("mlx5dv_devx_umem_reg_ex", umem.umem_id, played().next_umem++);
  return made("mlx5dv_devx_umem_reg_ex", "umem", umem);
}
int umem_dereg(mlx5dv_devx_umem* umem) {
  return removes("mlx5dv_devx_umem_dereg") ? gone("umem", umem) : errno;
}

using Answer = std::span<std::uint8_t>;

std::string opcode_of(const void* in) {
  const auto* const bytes = static_cast<const std::uint8_t*>(in);
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), "%02x%02x", bytes[0], bytes[1]);
  return digits.data();
}

// Whether the firmware takes the command; `fill` gives its answer, which may be spoilt, and cut. Of
// a whole one all bytes are written, as the kernel does it.
template <class Fill>
bool is_taken(const void* in, std::size_t size, void* out, std::size_t out_size, const Fill& fill) {
  const auto* const bytes = static_cast<const std::uint8_t*>(in);
  const std::string opcode = opcode_of(in);
  played().sent[opcode].assign(bytes, bytes + size);
  played().commands.emplace_back(bytes, bytes + size);
  std::vector<std::uint8_t> answer(out_size);
  const bool taken = succeeds(opcode);
  const int code = errno;
  if (taken) {
    fill(Answer(answer));
  } else {
    const prm::View<prm::MboxOut, std::uint8_t> refusal{Answer(answer)};
    refusal.set(prm::MboxOut::status, played().status);
    refusal.set(prm::MboxOut::syndrome, played().syndrome);
  }
  give(opcode, Answer(static_cast<std::uint8_t*>(out), out_size), std::move(answer));
  errno = code;
  return taken;
}

// The number of what was made is at the same place in all answers.
void number_it(Answer answer) {
  const prm::View<prm::CreateCqOut, std::uint8_t> view(answer);
  view.set(prm::CreateCqOut::cqn, played().next_object++ & 0xffffff);
}
void tell_state(Answer answer) {
  const prm::View<prm::QueryQpOut, std::uint8_t> view(answer);
  view.at(prm::QueryQpOut::qpc).set(prm::Qpc::state, played().queue_state);
}
void tell_state_and_error(Answer answer) {
  tell_state(answer);
  const prm::View<prm::QpcExt, std::uint8_t> more(answer.subspan(prm::QueryQpOut::kBytes));
  more.at(prm::QpcExt::error_syndrome).set(prm::CqeErrorSyndrome::syndrome, played().first_error);
}
void tell_counters(Answer answer) {
  const prm::View<prm::QueryQCounterOut, std::uint8_t> view(answer);
  for_each_q_counter([&](auto field, std::uint64_t QueueCounters::*member) {
    const std::uint64_t NicCounters::*const of_nic = member;
    const auto row = std::ranges::find(counter_table(), of_nic, &CounterRow::member);
    const auto found = played().counted.find(std::string(row->name));
    if (found != played().counted.end()) view.set(field, found->second);
  });
}
void tell_lag(Answer answer) {
  const prm::View<prm::QueryLagOut, std::uint8_t> view(answer);
  view.at(prm::QueryLagOut::ctx).set(prm::Lagc::lag_state, played().lag_state);
  view.at(prm::QueryLagOut::ctx).set(prm::Lagc::port_select_mode, played().lag_mode);
}
void tell_capabilities(std::uint64_t page, Answer answer) {
  const prm::View<prm::QueryHcaCapOut, std::uint8_t> view(answer);
  const Answer bytes(view.at(prm::QueryHcaCapOut::capability));
  switch (static_cast<prm::CapabilityPage>(page)) {
    case prm::CapabilityPage::cmd_hca_cap: {
      const prm::View<prm::CmdHcaCap, std::uint8_t> caps(bytes);
      caps.set(prm::CmdHcaCap::qp_error_syndrome, played().tells_first_error ? 1 : 0);
      caps.set(prm::CmdHcaCap::dct, played().has_dc ? 1 : 0);
      caps.set(prm::CmdHcaCap::log_max_ra_req_dc, played().log_dc_reads);
      caps.set(prm::CmdHcaCap::hca_cap_2, played().recordless ? 1 : 0);
      caps.set(prm::CmdHcaCap::num_lag_ports, played().lag_ports);
      caps.set(prm::CmdHcaCap::lag_tx_port_affinity, played().lag_ports != 0 ? 1 : 0);
      caps.set(prm::CmdHcaCap::init2_lag_tx_port_affinity, played().lag_port_in_rtr ? 1 : 0);
      break;
    }
    case prm::CapabilityPage::cmd_hca_cap_2: {
      const prm::View<prm::CmdHcaCap2, std::uint8_t> caps(bytes);
      caps.set(prm::CmdHcaCap2::send_dbr_mode_no_dbr_ext, played().recordless ? 1 : 0);
      break;
    }
    case prm::CapabilityPage::atomic_caps: {
      const prm::View<prm::AtomicCaps, std::uint8_t> caps(bytes);
      caps.set(prm::AtomicCaps::atomic_operations, played().atomic_operations);
      caps.set(prm::AtomicCaps::atomic_size_qp, played().atomic_bytes);
      caps.set(prm::AtomicCaps::atomic_size_dc, played().dc_atomic_bytes);
      caps.set(prm::AtomicCaps::atomic_req_8B_endianness_mode, played().swaps_fetched ? 0 : 1);
      break;
    }
    default: break;
  }
}

mlx5dv_devx_obj* obj_create(ibv_context*, const void* in, std::size_t size, void* out,
                            std::size_t out_size) {
  if (!is_taken(in, size, out, out_size, number_it)) return nullptr;
  ++played().live["object"];
  const prm::View<prm::CreateQpOut> made(Answer(static_cast<std::uint8_t*>(out), out_size));
  return new mlx5dv_devx_obj{opcode_of(in), 0,
                             static_cast<std::uint32_t>(made.get(prm::CreateQpOut::qpn))};
}
int obj_modify(mlx5dv_devx_obj* object, const void* in, std::size_t size, void* out,
               std::size_t out_size) {
  ++object->commands;
  return is_taken(in, size, out, out_size, [](Answer) {}) ? 0 : errno;
}
int obj_query(mlx5dv_devx_obj* object, const void* in, std::size_t size, void* out,
              std::size_t out_size) {
  ++object->commands;
  const bool counts = static_cast<const std::uint8_t*>(in)[0] == 0x07;  // QUERY_Q_COUNTER
  const auto fill = counts                       ? tell_counters
                    : played().tells_first_error ? tell_state_and_error
                                                 : tell_state;
  return is_taken(in, size, out, out_size, fill) ? 0 : errno;
}
int obj_destroy(mlx5dv_devx_obj* object) {
  const std::string nth = "mlx5dv_devx_obj_destroy " + std::to_string(++played().destroyed);
  if (!removes(nth) || !removes("mlx5dv_devx_obj_destroy")) return errno;
  played().gone.push_back(object->made_by);
  return gone("object", object);
}
int general_cmd(ibv_context*, const void* in, std::size_t size, void* out, std::size_t out_size) {
  const prm::View<prm::MboxIn> command(
      std::span<const std::uint8_t>(static_cast<const std::uint8_t*>(in), size));
  const bool of_lag =
      command.get(prm::MboxIn::opcode) == static_cast<std::uint64_t>(prm::Opcode::query_lag);
  const std::uint64_t page = command.get(prm::MboxIn::op_mod) >> 1;
  const auto fill = [of_lag, page](Answer answer) {
    of_lag ? tell_lag(answer) : tell_capabilities(page, answer);
  };
  return is_taken(in, size, out, out_size, fill) ? 0 : errno;
}

mlx5dv_devx_event_channel* create_event_channel(ibv_context*,
                                                mlx5dv_devx_create_event_channel_flags) {
  mlx5dv_devx_event_channel* const channel =
      made("mlx5dv_devx_create_event_channel", "channel", mlx5dv_devx_event_channel{});
  if (channel == nullptr) return nullptr;
  const bool whole = arriving("mlx5dv_devx_create_event_channel", 1) != 0;
  channel->fd = whole ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
  return channel;
}
void destroy_event_channel(mlx5dv_devx_event_channel* channel) {
  if (channel->fd >= 0) ::close(channel->fd);
  gone("channel", channel);
}
int subscribe_event(mlx5dv_devx_event_channel*, mlx5dv_devx_obj* object, std::uint16_t bytes,
                    std::uint16_t numbers[], std::uint64_t cookie) {
  const int code = code_of("mlx5dv_devx_subscribe_devx_event");
  if (code != 0) return code;
  for (std::size_t i = 0; i < bytes / sizeof *numbers; ++i) {
    played().cookies[{object->number, numbers[i]}] = cookie;
  }
  return 0;
}
ssize_t get_event(mlx5dv_devx_event_channel* channel, mlx5dv_devx_async_event_hdr* record,
                  std::size_t) {
  const bool blocks = (::fcntl(channel->fd, F_GETFL) & O_NONBLOCK) == 0;
  if (blocks) std::abort();
  if (!succeeds("mlx5dv_devx_get_event")) return -1;
  const bool invented = happens(4);
  if (!invented && played().events.empty()) {
    errno = EAGAIN;
    return -1;
  }
  std::uint64_t cookie = 0;
  if (invented) {
    spoil(cookie);
  } else {
    cookie = played().events.front();
    played().events.pop_front();
  }
  const std::size_t comes = arriving("mlx5dv_devx_get_event", sizeof cookie);
  std::memcpy(&record->cookie, &cookie, comes);
  return static_cast<ssize_t>(comes);
}

}  // namespace

void put_pages_back() {
  constexpr std::size_t kFirstRegister = 0x800;
  for (DoorbellPage& page : pages) {
    page.uar.base_addr = page.registers.data();
    page.uar.reg_addr = page.registers.data() + kFirstRegister;
  }
}

void add_firmware(Libraries& libraries) {
  libraries.query_eqn = query_eqn;
  libraries.alloc_uar = alloc_uar;
  libraries.free_uar = free_uar;
  libraries.umem_reg = umem_reg;
  libraries.umem_dereg = umem_dereg;
  libraries.general_cmd = general_cmd;
  libraries.obj_create = obj_create;
  libraries.obj_modify = obj_modify;
  libraries.obj_query = obj_query;
  libraries.obj_destroy = obj_destroy;
  libraries.create_event_channel = create_event_channel;
  libraries.destroy_event_channel = destroy_event_channel;
  libraries.subscribe_event = subscribe_event;
  libraries.get_event = get_event;
}

}  // namespace gdakit::mlx5::calls

namespace gdakit::mlx5 {

mlx5dv_devx_uar* played_uar(std::size_t index) { return &calls::pages[index].uar; }

}  // namespace gdakit::mlx5
