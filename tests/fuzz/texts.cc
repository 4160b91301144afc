#include "tests/fuzz/texts.h"

#include <sstream>

#include "backends/softnic/wire/faults.h"
#include "backends/softnic/wire/nic_place.h"
#include "backends/softnic/wire/udp_address.h"
#include "core/base/json.h"
#include "core/host/launch/exit_pipe.h"
#include "core/host/launch/launch_info.h"
#include "sim/explore/token.h"

namespace gdakit::fuzz {
namespace {

std::string check_faults(std::string_view text) {
  using softnic::Faults;
  const Result<Faults> faults = softnic::parse_faults(text);
  if (!faults) return faults.error().message().empty() ? "an error without a sentence" : "";
  for (const double rate :
       {faults->drop, faults->repeat, faults->reorder, faults->corrupt, faults->mark}) {
    if (!(rate >= 0 && rate <= 1)) return "a probability that is none";
  }
  if (faults->delay_max_ns > Faults::kMaxNs || faults->down_every_ns > Faults::kMaxNs ||
      faults->down_for_ns > faults->down_every_ns) {
    return "times that do not fit together";
  }
  const softnic::Fate fate = softnic::drawn(*faults)->fate({});
  return fate.behind <= Faults::kMaxDepth && fate.delay_ns <= Faults::kMaxNs
             ? ""
             : "a fate that the faults do not have";
}

std::string check_address(std::string_view text) {
  using softnic::UdpAddress;
  const Result<UdpAddress> address = UdpAddress::parse(text);
  if (!address) return address.error().message().empty() ? "an error without a sentence" : "";
  const Result<UdpAddress> again = UdpAddress::parse(address->text());
  return again && *again == *address ? "" : "an address that is not parsed as it is written";
}

std::string check_exit_request(std::string_view text) {
  const auto request = parse_exit_request(text);
  if (!request) return {};
  return request->rank >= 0 && request->status >= 0 && request->status <= 255
             ? ""
             : "an end with a status that exit() does not give";
}

// The JSON text of a string; the text behind it in `rest`. False: it is none.
bool take_string(std::string_view& rest) {
  if (!rest.starts_with('"')) return false;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == '"') {
      rest.remove_prefix(i + 1);
      return true;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>') return false;
    if (c != '\\') continue;
    const std::size_t more = rest.substr(i).starts_with("\\u") ? 5 : 1;
    i += more;
  }
  return false;
}

// Each character begins with a byte that says how many more it has.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first >= 0xf5 || (first >= 0x80 && first < 0xc2) || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

std::string check_token(std::string_view text) {
  const auto token = sim::Token::parse(text);
  if (!token) return token.error().message().empty() ? "an error without a sentence" : "";
  const auto again = sim::Token::parse(token->text());
  if (!again || !(*again == *token)) return "a token that is not parsed as it is written";
  token->strategy();
  return {};
}

}  // namespace

std::string play_network_texts(Input input) {
  const std::string_view text = text_of(input);
  std::string wrong = check_faults(text);
  if (wrong.empty()) wrong = check_address(text);
  if (wrong.empty()) wrong = check_exit_request(text);
  const auto place = softnic::find_nic_place(text, 3);
  if (!place && place.error().message().empty()) return "an error without a sentence";
  const auto secret = parse_job_secret(text);
  if (secret && job_secret_text(*secret).size() != text.size()) return "a secret that is none";
  return wrong;
}

std::vector<Seed> network_text_seeds() {
  std::vector<Seed> seeds;
  for (const char* const text :
       {"drop=1%,repeat=0.1%,reorder=5%,reorder-depth=8,corrupt=0.01%,mark=5%,delay=50us..2ms,"
        "down=200ms/5s,partition=3+5,seed=7",
        "delay=1000s..1e3s",
        "down=1ns/2ns",
        "drop=1e2%",
        "partition=4294967295",
        "10.0.0.7",
        "10.0.0.7:4792",
        "fd00::7",
        "[fd00::7]:4792",
        "::ffff:10.0.0.7",
        "fe80::1",
        "lo",
        "lo:99",
        "127.0.0.0/8",
        "fd00::/8",
        "0.0.0.0/0",
        "[::]/128",
        "2 0\n",
        "0 255\n",
        "000102030405060708090a0b0c0d0e0f"}) {
    seeds.push_back(seed_of(text));
  }
  return seeds;
}

// A token's check sum hides what lies behind it, so a vector is made of the same bytes, too.
std::string play_tokens(Input input) {
  if (std::string wrong = check_token(text_of(input)); !wrong.empty()) return wrong;
  std::vector<std::uint32_t> picks;
  for (std::size_t i = 0; i + 1 < input.size(); i += 2) {
    picks.push_back(static_cast<std::uint32_t>(input[i]) << (input[i + 1] % 25));
  }
  const sim::Token token(picks);
  const auto again = sim::Token::parse(token.text());
  return again && *again == token ? "" : "a vector that is not parsed as it is written";
}

std::vector<Seed> token_seeds() {
  using sim::SeededRun;
  using sim::StrategyKind;
  std::vector<Seed> seeds;
  for (const StrategyKind kind : {StrategyKind::mixed, StrategyKind::random, StrategyKind::pct}) {
    seeds.push_back(seed_of(sim::Token(SeededRun{kind, 0x5f3a, 0x12c}).text()));
    seeds.push_back(seed_of(sim::Token(SeededRun{kind, ~0ull, ~0ull}).text()));
  }
  seeds.push_back(seed_of(sim::Token(std::vector<std::uint32_t>{0, 3, 0, 0, 900, 1}).text()));
  seeds.push_back(seed_of(sim::Token().text()));
  return seeds;
}

std::string play_json(Input input) {
  std::ostringstream out;
  JsonWriter json(out, 0);
  json.begin_object();
  json.member(text_of(input), text_of(input));
  json.end();
  const std::string written = out.str();
  if (!is_utf8(written)) return "JSON that is not UTF-8";
  std::string_view rest = written;
  if (!rest.starts_with('{')) return "no object";
  rest.remove_prefix(1);
  if (!take_string(rest) || !rest.starts_with(':')) return "a key that does not end";
  rest.remove_prefix(1);
  return take_string(rest) && rest == "}\n" ? "" : "a value that does not end";
}

std::vector<Seed> json_seeds() {
  return {seed_of("plain"), seed_of("\"\\\n\t</script>"), seed_of("\xc3\xa9\xe2\x82\xac"),
          seed_of("\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xed\xa0\x80"), seed_of("\xc0\x80\xff\x01")};
}

}  // namespace gdakit::fuzz
