// Litmus tests as text: what is read, and what is refused in which words.
#include "sim/litmus/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/litmus/summary.h"

namespace gdakit::sim::litmus {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kMessagePassing = R"(PTX MP+test
"free text, {braces} and // slashes
 over two lines"
{ x=0; y = -3; P1:r2=7; 0:r1=0x10; }   (* a comment
                                          of two lines *)
 P0@cta 0,gpu 0 | P1@cta 0, gpu 1 ;
 st.weak x, 1        | ld.acquire.sys r1, y ; // another comment
                     | beq r1, 0, LC00      ;
 st.release.sys y, r1| ld.weak r2, x        ;
                     | LC00:                ;
exists (1:r1 == 16 /\ P1:r2 = 7)
)";

Program parsed(const std::string& text) {
  Result<Program> program = parse(text, "test.litmus");
  EXPECT_TRUE(program) << (program ? "" : program.error().message());
  return program ? std::move(*program) : Program{};
}

// One thread with this code, and the condition x == 0.
std::string with_code(const std::string& code) {
  return "PTX t\n{ x=0; }\nP0@cta 0,gpu 0 ;\n" + code + "\nexists (x == 0)";
}

Instruction instruction(const std::string& code) {
  const Program program = parsed(with_code(code + " ;"));
  EXPECT_EQ(program.threads.at(0).code.size(), 1u);
  return program.threads.at(0).code.at(0);
}

Error refused(const std::string& text) {
  const Result<Program> program = parse(text, "test.litmus");
  EXPECT_FALSE(program) << text;
  return program ? Error(Code::internal, "") : program.error();
}

TEST(LitmusParser, ReadsTheWholeOfATest) {
  const Program program = parsed(kMessagePassing);
  EXPECT_EQ(program.name, "MP+test");
  ASSERT_EQ(program.locations.size(), 2u);
  EXPECT_EQ(program.locations[0].name, "x");
  EXPECT_EQ(program.locations[1].initial, -3);
  ASSERT_EQ(program.threads.size(), 2u);
  const Thread& reader = program.threads[1];
  EXPECT_EQ(reader.registers, (std::vector<std::string>{"r2", "r1"}));
  EXPECT_EQ(reader.initial, (std::vector<std::int64_t>{7, 0}));
  EXPECT_EQ(program.threads[0].initial, std::vector<std::int64_t>{16});
  ASSERT_EQ(reader.code.size(), 3u);
  EXPECT_EQ(reader.code[0].line, 7u);
  EXPECT_EQ(reader.code[1].target, 3u);
  EXPECT_EQ(program.quantifier, Quantifier::exists);
  EXPECT_EQ(describe_condition(program), "exists (P1:r1 == 16 /\\ P1:r2 == 7)");
}

TEST(LitmusParser, CountsCtasOnTheirGpu) {
  const Program program = parsed(
      "PTX t { } P0@cta 0,gpu 0 | P1@cta 0,gpu 1 | P2@cta 0,gpu 0 | P3@cta 1,gpu 0 ; exists (x == "
      "0)");
  const auto block = [&](std::size_t thread) { return program.threads[thread].place.block; };
  EXPECT_EQ(block(0), block(2));
  EXPECT_NE(block(0), block(1));
  EXPECT_NE(block(0), block(3));
  EXPECT_EQ(program.threads[1].place.gpu, 1u);
}

TEST(LitmusParser, ReadsAccessesWithTheirStrength) {
  const Instruction weak = instruction("ld.weak r1, x");
  EXPECT_EQ(weak.op, Op::load);
  EXPECT_EQ(weak.sem, weak::Sem::weak);
  const Instruction acquire = instruction("ld.acquire.cta r1, x");
  EXPECT_EQ(acquire.sem, weak::Sem::acquire);
  EXPECT_EQ(acquire.scope, Scope::block);
  const Instruction release = instruction("st.release.gpu x, r4");
  EXPECT_EQ(release.op, Op::store);
  EXPECT_EQ(release.sem, weak::Sem::release);
  EXPECT_EQ(release.scope, Scope::gpu);
  EXPECT_TRUE(release.left.is_register);
  const Instruction loose = instruction("ld.volatile r1, x");
  EXPECT_EQ(loose.sem, weak::Sem::relaxed);
  EXPECT_EQ(loose.scope, Scope::system);
}

TEST(LitmusParser, ReadsMovesArithmeticAndBranches) {
  EXPECT_EQ(instruction("ld r1, 5").op, Op::move);
  EXPECT_EQ(instruction("ld.weak r1, r2").op, Op::move);
  const Instruction divide = instruction("div r1, r2, -3");
  EXPECT_EQ(divide.arithmetic, Arithmetic::divide);
  EXPECT_EQ(divide.right.value, -3);
  const Program loop = parsed(with_code("LC7: ; goto LC7 ; bge r1, r2, LC8 ; LC8: ;"));
  EXPECT_EQ(loop.threads[0].code[0].target, 0u);
  EXPECT_EQ(loop.threads[0].code[1].target, 2u);
  EXPECT_EQ(loop.threads[0].code[1].compare, Compare::greater_or_equal);
}

TEST(LitmusParser, ReadsAtomics) {
  constexpr const char* kOperations[] = {"add", "sub",  "mul", "div", "and", "or",
                                         "xor", "exch", "min", "max", "inc", "dec"};
  for (const std::string operation : kOperations) {
    EXPECT_EQ(instruction("atom.acq_rel.sys." + operation + " r1, x, 3").op, Op::rmw);
    EXPECT_EQ(instruction("red.relaxed.cta." + operation + " x, r1").destination, kNoRegister);
  }
  const Instruction cas = instruction("atom.acquire.gpu.cas r1, x, 0, 1");
  EXPECT_EQ(cas.op, Op::cas);
  EXPECT_EQ(cas.left.value, 0);
  EXPECT_EQ(cas.right.value, 1);
}

TEST(LitmusParser, ReadsFencesAndBarriers) {
  EXPECT_EQ(instruction("fence.sc.cta").sem, weak::Sem::sc);
  EXPECT_EQ(instruction("fence.acq_rel.sys").scope, Scope::system);
  EXPECT_EQ(instruction("fence.acquire.gpu").sem, weak::Sem::acquire);
  const Instruction old = instruction("membar.gl");
  EXPECT_EQ(old.sem, weak::Sem::sc);
  EXPECT_EQ(old.scope, Scope::gpu);
  const Instruction barrier = instruction("bar.cta.sync 3");
  EXPECT_EQ(barrier.instance, 3u);
  EXPECT_FALSE(barrier.named || barrier.arrives_only);
  const Instruction named = instruction("bar.cta.arrive 3, r2");
  EXPECT_TRUE(named.named && named.arrives_only && named.left.is_register);
}

TEST(LitmusParser, ReadsConditions) {
  const auto holds = [](const std::string& condition, std::int64_t x, std::int64_t y) {
    const Program program =
        parsed("PTX t { } P0@cta 0,gpu 0 ; filter (x >= 0) exists (" + condition + ")");
    Outcome outcome;
    for (const Observable& observable : program.observables) {
      outcome.push_back(program.locations[observable.number].name == "x" ? x : y);
    }
    return program.filter.holds(outcome) && program.condition.holds(outcome);
  };
  EXPECT_TRUE(holds("x = 1 \\/ x == 2 /\\ y == 9", 1, 0));
  EXPECT_FALSE(holds("(x = 1 \\/ x == 2) /\\ y == 9", 1, 0));
  EXPECT_TRUE(holds("~(x = 1) /\\ not y != 3", 0, 3));
  EXPECT_TRUE(holds("x < y /\\ [y] >= 2", 1, 2));
  EXPECT_FALSE(holds("x <= y /\\ y > 2", 1, 2));
  EXPECT_FALSE(holds("x == x", -1, 2));  // the filter
  const Program open = parsed("PTX t { } P0@cta 0,gpu 0 ; forall x = 1");
  EXPECT_EQ(open.quantifier, Quantifier::forall);
  const Program none = parsed("PTX t { } P0@cta 0,gpu 0 ; locations [x; 0:r1;] ~exists (0:r1 = 1)");
  EXPECT_EQ(none.quantifier, Quantifier::not_exists);
}

TEST(LitmusParser, NamesWhatIsNotModelled) {
  struct Case {
    const char* text;
    const char* says;
  };
  const Case cases[] = {
      {"suld.weak r1, x ;", "test.litmus:4: 'suld.weak': the surface proxy is not modelled"},
      {"tld.weak r1, x ;", "texture proxy"},
      {"cold.weak r1, x ;", "constant proxy"},
      {"fence.proxy.alias ;", "'fence.proxy.alias': a fence between proxies is not modelled"},
      {"bar.cta.sync 1, 1, 2 ;", "a quorum"},
      {"bar.cta.sync r1 ;", "a barrier's number in a register"},
      {"bar.cta.red 1 ;", "'.red' is not modelled"},
      {"ld.relaxed.cluster r1, x ;", "the scope of a cluster"},
      {"ld.relaxed.gpu.b32 r1, x ;", "'.b32'"},
      {"st.weak [x], 1 ;", "an address in brackets"},
      {"st.weak r1, 1 ;", "an address in a register"},
      {"nanosleep 5 ;", "'nanosleep': this instruction is not modelled"}};
  for (const Case& one : cases) {
    const Error error = refused(with_code(one.text));
    EXPECT_EQ(error.code(), Code::unavailable) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(one.says));
  }
  const Error alias = refused("PTX t\n{ x=0;\n y @ texture aliases x; }\nP0@cta 0,gpu 0 ;");
  EXPECT_EQ(alias.code(), Code::unavailable);
  EXPECT_THAT(alias.message(), StartsWith("test.litmus:3: 'y' is an alias"));
  EXPECT_EQ(refused("PTX t { P0:r1 = &x; } P0@cta 0,gpu 0 ;").code(), Code::unavailable);
  EXPECT_EQ(refused("PTX t { y = x; } P0@cta 0,gpu 0 ;").code(), Code::unavailable);
}

TEST(LitmusParser, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    const char* says;
  };
  const Case cases[] = {
      {"", "begins with 'PTX'"},
      {"C MP { }", "begins with 'PTX'"},
      {"PTX t", "expected '{'"},
      {with_code("ld.relaxed r1, x ;"), "test.litmus:4: 'ld.relaxed': a scope is missing"},
      {with_code("ld.weak.gpu r1, x ;"), "a weak access has no scope"},
      {with_code("ld.release.gpu r1, x ;"), "cannot have that memory order"},
      {with_code("st.acquire.gpu x, 1 ;"), "cannot have that memory order"},
      {with_code("fence.sc ;"), "a scope is missing"},
      {with_code("atom.relaxed.gpu r1, x, 1 ;"), "an operation is missing"},
      {with_code("red.relaxed.gpu.cas x, 1, 2 ;"), "a red has no cas"},
      {with_code("ld.weak x, r1 ;"), "'x' is no register"},
      {with_code("st.weak x ;"), "expected ','"},
      {with_code("st.weak x, 1"), "expected ';' at the end of a row"},
      {with_code("st.weak x, 1 | st.weak x, 2 ;"), "more cells than threads"},
      {with_code("goto LC9 ;"), "test.litmus:4: the label 'LC9' does not stand in P0"},
      {with_code("LC1: ; LC1: ;"), "stands twice"},
      {"PTX t { } P0@cta 0,gpu 0 ; st.weak x, 1 ;", "expected 'exists'"},
      {"PTX t { } P0@cta 0 ; exists (x == 1)", "expected ','"},
      {"PTX t { } P0@cta 0,gpu 0 ; exists (x == 1", "expected ')'"},
      {"PTX t { } P0@cta 0,gpu 0 ; exists (x)", "expected a comparison"},
      {"PTX t { } P0@cta 0,gpu 0 ; exists (r1 == 1)", "needs its thread"},
      {"PTX t { } P0@cta 0,gpu 0 ; exists (P3:r1 == 1)", "names thread 'P3'"},
      {"PTX t { } P0@cta 0,gpu 0 ; exists (x == 1) x", "'x' after the condition"},
      {"PTX t { x } P0@cta 0,gpu 0 ; exists (x == 1)", "expected '='"},
      {"PTX t { } P0@cta 0,gpu 0 ; exists " + std::string(1000, '(') + "x == 1", "too deeply"}};
  for (const Case& one : cases) {
    const Error error = refused(one.text);
    EXPECT_EQ(error.code(), Code::invalid_argument) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(one.says));
    EXPECT_THAT(error.message(), StartsWith("test.litmus:"));
  }
  const Result<Program> absent = parse_file("tests/litmus/absent.litmus");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), Code::not_found);
}

TEST(LitmusParser, ComputesAsTheOperationsSay) {
  EXPECT_EQ(compute(Arithmetic::divide, 7, 0), 0);
  EXPECT_EQ(compute(Arithmetic::divide, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(compute(Arithmetic::divide, -7, 2), -3);
  EXPECT_EQ(compute(Arithmetic::increment, 3, 3), 0);
  EXPECT_EQ(compute(Arithmetic::increment, 2, 3), 3);
  EXPECT_EQ(compute(Arithmetic::decrement, 0, 3), 3);
  EXPECT_EQ(compute(Arithmetic::decrement, 5, 3), 3);
  EXPECT_EQ(compute(Arithmetic::decrement, 2, 3), 1);
  EXPECT_EQ(compute(Arithmetic::minimum, -1, 1), -1);
  EXPECT_EQ(compute(Arithmetic::exchange, 1, 2), 2);
}

}  // namespace
}  // namespace gdakit::sim::litmus
