#include "tools/check/pairs.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "core/host/bootstrap/host_name.h"
#include "tools/check/packed.h"
#include "tools/check/put_trouble.h"

namespace gdakit::tools::check {
namespace {

constexpr std::uint64_t kBytes = 65536;
constexpr std::size_t kMostFindings = 4;  // of one port of this PE
constexpr const char* kTo = " to ";
constexpr const char* kFrom = " from ";
constexpr const char* kOtherwise =
    "NICs that reach each other: GDAKIT_HCA_LIST takes those of one rail alone";

// A port of this PE's, with a queue pair for each direction.
struct End {
  std::size_t number = 0;  // in the job
  std::string name;        // "mlx5_0 port 1"
  std::string nic;
  std::unique_ptr<mlx5::PutEnd> out, in;
  Bytes out_card, in_card;  // empty: there is no queue
  bool out_ready = false, in_ready = false, arrived = false;
  std::size_t findings = 0;
};

Bytes flag(bool value) { return Bytes(value ? 1 : 0); }
bool is_set(const Bytes& bytes) { return !bytes.empty(); }

class Pairs {
 public:
  Pairs(const Surroundings& surroundings, Bootstrap& bootstrap, std::vector<JobPort> ports)
      : surroundings_(surroundings),
        bootstrap_(bootstrap),
        ports_(std::move(ports)),
        limit_(std::min(surroundings.put_limit, surroundings.options.timeout / 2)) {}

  void open();
  Result<void> round(std::size_t shift);
  StepReport take();

 private:
  std::size_t target_of(const End& end, std::size_t shift) const {
    return (end.number + shift) % ports_.size();
  }
  std::size_t source_of(const End& end, std::size_t shift) const {
    return (end.number + ports_.size() - shift) % ports_.size();
  }
  PutRoute route(const End& end) const { return {end.name, end.nic, false, {}, kOtherwise}; }
  PutRoute route(const End& end, const char* way, std::size_t other) const {
    return {end.name + way + ports_[other].name, end.nic, false, ports_[other].address, kOtherwise};
  }
  void add(End& end, Finding finding);
  void open(End& end, unsigned port);
  // What all PEs have for each of their ports, by the ports' numbers.
  Result<std::vector<Bytes>> gather(const std::function<Bytes(const End&)>& of_mine);

  Result<void> connect(std::size_t shift);
  Result<void> put(std::size_t shift);
  Result<void> compare(std::size_t shift);
  Bytes make_queue(End& end, mlx5::PutEnd* queue);
  bool connect_one(End& end, mlx5::PutEnd* queue, const PutRoute& way, const Bytes& mine,
                   const Bytes& other);

  const Surroundings& surroundings_;
  Bootstrap& bootstrap_;
  const std::vector<JobPort> ports_;
  const std::chrono::milliseconds limit_;
  std::vector<End> ends_;
  StepReport report_;
  std::size_t tried_ = 0, right_ = 0, left_out_ = 0;
};

void Pairs::add(End& end, Finding finding) {
  report_.verdict = Verdict::failed;
  if (end.findings++ < kMostFindings) {
    report_.add(std::move(finding));
  } else {
    ++left_out_;
  }
}

void Pairs::open(End& end, unsigned port) {
  for (std::unique_ptr<mlx5::PutEnd>* const queue : {&end.out, &end.in}) {
    Result<std::unique_ptr<mlx5::PutEnd>> opened = surroundings_.open_put_end(end.nic, port);
    if (!opened) {
      return add(end,
                 refused_call(route(end), "the NIC, and 2 MiB of memory for it", opened.error()));
    }
    *queue = std::move(*opened);
  }
}

void Pairs::open() {
  const auto usable = surroundings_.usable_ports();
  for (std::size_t number = 0; number < ports_.size(); ++number) {
    if (ports_[number].pe != bootstrap_.rank()) continue;
    const Surroundings::UsablePort& port = usable[ports_[number].index];
    End end;
    end.number = number;
    end.name = port.name();
    end.nic = port.nic->name;
    ends_.push_back(std::move(end));
    open(ends_.back(), port.port->number);
  }
}

Result<std::vector<Bytes>> Pairs::gather(const std::function<Bytes(const End&)>& of_mine) {
  Packer mine;
  for (const End& end : ends_) mine.bytes(of_mine(end));
  const Result<std::vector<Bytes>> all = bootstrap_.allgather(mine.take());
  if (!all) return all.error();
  std::vector<Bytes> by_port;
  std::vector<Unpacker> unpackers(all->begin(), all->end());
  for (const JobPort& port : ports_) {
    by_port.push_back(unpackers[static_cast<std::size_t>(port.pe)].bytes());
  }
  return by_port;
}

Bytes Pairs::make_queue(End& end, mlx5::PutEnd* queue) {
  if (queue == nullptr) return {};
  Result<Bytes> card = queue->make_queue(QueueType::rc);
  if (card) return std::move(*card);
  add(end, refused_call(route(end), "a queue pair", card.error()));
  return {};
}

bool Pairs::connect_one(End& end, mlx5::PutEnd* queue, const PutRoute& way, const Bytes& mine,
                        const Bytes& other) {
  if (mine.empty() || other.empty()) return false;
  const Result<void> connected = queue->connect(other);
  if (!connected) {
    add(end, refused_call(way, "the connection of two queue pairs", connected.error()));
  }
  return static_cast<bool>(connected);
}

Result<void> Pairs::connect(std::size_t shift) {
  for (End& end : ends_) {
    end.out_card = make_queue(end, end.out.get());
    end.in_card = make_queue(end, end.in.get());
  }
  const auto out_cards = gather([](const End& end) { return end.out_card; });
  if (!out_cards) return out_cards.error();
  const auto in_cards = gather([](const End& end) { return end.in_card; });
  if (!in_cards) return in_cards.error();
  for (End& end : ends_) {
    const std::size_t target = target_of(end, shift), source = source_of(end, shift);
    end.out_ready =
        connect_one(end, end.out.get(), route(end, kTo, target), end.out_card, (*in_cards)[target]);
    end.in_ready = connect_one(end, end.in.get(), route(end, kFrom, source), end.in_card,
                               (*out_cards)[source]);
    if (end.in_ready) end.in->prepare(kBytes, static_cast<std::uint8_t>(source));
  }
  return {};
}

Result<void> Pairs::put(std::size_t shift) {
  const auto in_ready = gather([](const End& end) { return flag(end.in_ready); });
  if (!in_ready) return in_ready.error();
  for (End& end : ends_) {
    const std::size_t target = target_of(end, shift);
    end.arrived = false;
    ++tried_;
    if (!end.out_ready || !is_set((*in_ready)[target])) continue;
    const mlx5::PutOutcome outcome =
        end.out->put(kBytes, static_cast<std::uint8_t>(end.number), limit_);
    end.arrived = outcome.kind == mlx5::PutOutcome::Kind::arrived;
    if (!end.arrived) {
      add(end, failed_put(route(end, kTo, target), kBytes, outcome, limit_));
    }
  }
  return {};
}

Result<void> Pairs::compare(std::size_t shift) {
  const auto arrived = gather([](const End& end) { return flag(end.arrived); });
  if (!arrived) return arrived.error();
  for (End& end : ends_) {
    if (end.arrived) ++right_;
    const std::size_t source = source_of(end, shift);
    if (!end.in_ready || !is_set((*arrived)[source])) continue;
    const std::uint64_t wrong = end.in->count_wrong(kBytes, static_cast<std::uint8_t>(source));
    if (wrong == 0) continue;
    add(end, wrong_bytes(route(end, kFrom, source), kBytes, wrong));
  }
  return {};
}

Result<void> Pairs::round(std::size_t shift) {
  if (auto done = connect(shift); !done) return done;
  if (auto done = put(shift); !done) return done;
  return compare(shift);
}

StepReport Pairs::take() {
  report_.say(std::to_string(right_) + " of " + std::to_string(tried_) +
              " puts of 64 KiB from this PE arrived");
  if (left_out_ != 0) report_.say(std::to_string(left_out_) + " more failures are not listed");
  return std::move(report_);
}

Result<std::vector<PePorts>> gather_ports(const Surroundings& surroundings, Bootstrap& bootstrap) {
  Packer mine;
  mine.text(this_host().text.data());
  for (const auto& usable : surroundings.usable_ports()) {
    mine.text(usable.name());
    mine.text(usable.address());
  }
  const Result<std::vector<Bytes>> all = bootstrap.allgather(mine.take());
  if (!all) return all.error();
  std::vector<PePorts> pes;
  for (const Bytes& packed : *all) {
    Unpacker from(packed);
    PePorts pe{from.text(), {}};
    for (std::string name = from.text(); from.ok(); name = from.text()) {
      pe.ports.push_back(std::move(name));
      pe.addresses.push_back(from.text());
    }
    pes.push_back(std::move(pe));
  }
  return pes;
}

}  // namespace

std::vector<JobPort> share_out(const std::vector<PePorts>& pes) {
  std::vector<JobPort> ports;
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    const PePorts& mine = pes[pe];
    const auto is_here = [&](const PePorts& other) { return other.host == mine.host; };
    const auto here = static_cast<std::size_t>(std::ranges::count_if(pes, is_here));
    const auto before = static_cast<std::size_t>(
        std::count_if(pes.begin(), pes.begin() + static_cast<std::ptrdiff_t>(pe), is_here));
    const std::size_t count = mine.ports.size();
    for (std::size_t port = 0; port < count; ++port) {
      const bool is_mine = count < here ? port == before % count : port % here == before;
      if (!is_mine) continue;
      ports.push_back({static_cast<int>(pe), port,
                       "PE " + std::to_string(pe) + "'s " + mine.ports[port],
                       mine.addresses[port]});
    }
  }
  return ports;
}

Result<StepReport> look_at_pairs(const Surroundings& surroundings, Bootstrap& bootstrap) {
  const Result<std::vector<PePorts>> pes = gather_ports(surroundings, bootstrap);
  if (!pes) return pes.error();
  const std::vector<JobPort> ports = share_out(*pes);
  if (ports.size() < 2) return skipped("the job has no two NICs with a port that is ACTIVE");
  const auto is_mine = [&](const JobPort& port) { return port.pe == bootstrap.rank(); };
  const bool drives_none = std::ranges::none_of(ports, is_mine);
  Pairs pairs(surroundings, bootstrap, ports);
  pairs.open();
  for (std::size_t shift = 1; shift < ports.size(); ++shift) {
    if (auto done = pairs.round(shift); !done) return done.error();
  }
  if (drives_none)
    return skipped("this PE drives none of the job's NICs: " + surroundings.why_no_nic());
  return pairs.take();
}

}  // namespace gdakit::tools::check
