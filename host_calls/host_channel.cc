#include "host_calls/host_channel.h"

#include <optional>
#include <string>
#include <utility>

#include "core/host/stall.h"
#include "device/channel.h"
#include "host_calls/host_thread_machine.h"

namespace gdakit {

// What the calls work with. Reports are the HostChannel's own, and told by the call that they are
// about.
struct HostChannel::State {
  using Handle = Channel<HostThreadMachine>;

  State(Context& of, const Channels& all, std::uint32_t channel_number)
      : owner(of),
        machine(of.wait_clock(), of.backend().progress_engine()),
        channels(all),
        number(channel_number) {
    owner.losses().tell(reports);
  }
  ~State() { owner.losses().forget(reports); }

  // Takes over what has become of the heap and of registered memory.
  Result<void> refresh() {
    Result<DeviceContext> now = owner.host_context(tables);
    if (!now) return now.error();
    context = *now;
    context.words = &words;
    context.state = &reports;
    if (!receiver) receiver.emplace(machine, context, channels, number);
    return {};
  }

  // What a call of a Handle returned, with the report that there may be of it.
  Result<void> result_of(const Status& status) {
    if (status.ok()) return {};
    machine.begin_wait();
    if (is_complete_report(reports.fault.state)) {
      const std::string text = describe(reports.fault, owner.my_pe(), nullptr);
      ++reports.fault.state;
      return Error(Code::invalid_argument, text);
    }
    if (is_complete_report(reports.stall.state)) {
      const std::string text = describe(reports.stall, owner.my_pe(), {});
      ++reports.stall.state;
      reports.gives_up = 0;
      return Error(Code::timed_out, text);
    }
    if (status.code == StatusCode::peer_lost) {
      const std::optional<LostPe> loss = owner.losses().loss_of(status.peer);
      return Error(Code::peer_lost, loss ? loss->why : describe(status));
    }
    return Error(Code::system, "PE " + std::to_string(owner.my_pe()) + ", " +
                                   queue_name(channels.first + number) + ": " + describe(status));
  }

  // act(handle), of the context as it is now: a new handle remembers no memory that is gone.
  template <class Act>
  Result<Ticket> post(const Act& act) {
    if (Result<void> fresh = refresh(); !fresh) return fresh.error();
    Handle handle(machine, context, channels, number);
    const Ticket ticket = act(handle);
    if (Result<void> done = result_of(ticket.status); !done) return done.error();
    return ticket;
  }

  // Before a call that completes what was posted: with several NICs it reads the heap, as that is
  // now (completing::flush_there). Else it names no memory.
  Result<void> refresh_to_complete() { return context.heap.nics > 1 ? refresh() : Result<void>(); }

  Result<void> wait(const Ticket& ticket) {
    if (Result<void> fresh = refresh_to_complete(); !fresh) return fresh;
    machine.begin_wait();
    return result_of(receiver->wait(ticket));
  }
  Result<bool> test(const Ticket& ticket) {
    if (Result<void> fresh = refresh_to_complete(); !fresh) return fresh.error();
    Status status;
    const bool done = receiver->test(ticket, &status);
    if (Result<void> good = result_of(status); !good) return good.error();
    return done;
  }
  Result<void> quiet() {
    if (Result<void> fresh = refresh_to_complete(); !fresh) return fresh;
    machine.begin_wait();
    return result_of(receiver->quiet());
  }
  Result<void> finish(const Result<Ticket>& ticket) {
    return ticket ? wait(*ticket) : Result<void>(ticket.error());
  }

  Result<Received> received(const Received& what) {
    if (Result<void> done = result_of(what.status); !done) return done.error();
    return what;
  }

  Context& owner;
  HostThreadMachine machine;
  const Channels channels;
  const std::uint32_t number;
  HostTables tables;
  PeWords words{};
  PeState reports{};
  DeviceContext context{};
  std::optional<Handle> receiver;  // remembers no memory, and so need not be new
};

HostChannel::HostChannel(std::unique_ptr<State> state) : state_(std::move(state)) {}
HostChannel::~HostChannel() = default;

Result<std::unique_ptr<HostChannel>> HostChannel::open(Context& context, const Channels& channels,
                                                       std::uint32_t number) {
  if (number >= channels.count) {
    return Error(Code::invalid_argument, "HostChannel::open: there is no channel " +
                                             std::to_string(number) + " among " +
                                             std::to_string(channels.count));
  }
  if (!context.host_drives(channels)) {
    return Error(Code::unavailable,
                 "HostChannel::open: the channels lie in GPU memory, where the host does not reach "
                 "them; add them with ChannelEnd::host");
  }
  auto state = std::make_unique<State>(context, channels, number);
  if (Result<void> fresh = state->refresh(); !fresh) return fresh.error().within("HostChannel");
  return std::unique_ptr<HostChannel>(new HostChannel(std::move(state)));
}

Result<Ticket> HostChannel::send_async(const void* local, std::size_t bytes, int pe, Batch batch) {
  return state_->post(
      [&](State::Handle& handle) { return handle.send_bytes_async(local, bytes, pe, batch); });
}

Result<Ticket> HostChannel::put_async(void* remote, const void* local, std::size_t bytes, int pe,
                                      Batch batch) {
  return state_->post([&](State::Handle& handle) {
    return handle.put_bytes_async(remote, local, bytes, pe, batch);
  });
}

Result<Ticket> HostChannel::put_with_immediate_async(void* remote, const void* local,
                                                     std::size_t bytes, std::uint32_t immediate,
                                                     int pe, Batch batch) {
  return state_->post([&](State::Handle& handle) {
    return handle.put_bytes_with_immediate_async(remote, local, bytes, immediate, pe, batch);
  });
}

Result<void> HostChannel::send(const void* local, std::size_t bytes, int pe) {
  return state_->finish(send_async(local, bytes, pe));
}

Result<void> HostChannel::put(void* remote, const void* local, std::size_t bytes, int pe) {
  return state_->finish(put_async(remote, local, bytes, pe));
}

Result<void> HostChannel::put_with_immediate(void* remote, const void* local, std::size_t bytes,
                                             std::uint32_t immediate, int pe) {
  return state_->finish(put_with_immediate_async(remote, local, bytes, immediate, pe));
}

Result<void> HostChannel::wait(const Ticket& ticket) { return state_->wait(ticket); }

Result<bool> HostChannel::test(const Ticket& ticket) { return state_->test(ticket); }
Result<void> HostChannel::quiet() { return state_->quiet(); }

Result<void> HostChannel::post_receive(void* buffer, std::size_t bytes, int pe) {
  const Result<Ticket> posted = state_->post([&](State::Handle& handle) {
    Ticket ticket;
    ticket.status = handle.post_receive(buffer, bytes, pe);
    return ticket;
  });
  if (!posted) return posted.error();
  return {};
}

Result<Received> HostChannel::poll_receive(int pe) {
  return state_->received(state_->receiver->poll_receive(pe));
}

Result<Received> HostChannel::poll_receive_any() {
  return state_->received(state_->receiver->poll_receive_any());
}

Result<Received> HostChannel::wait_receive(int pe) {
  state_->machine.begin_wait();
  return state_->received(state_->receiver->wait_receive(pe));
}

Result<Received> HostChannel::wait_receive_any() {
  state_->machine.begin_wait();
  return state_->received(state_->receiver->wait_receive_any());
}

}  // namespace gdakit
