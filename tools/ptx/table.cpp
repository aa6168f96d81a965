#include "table.h"

#include <algorithm>

namespace heddle::ptx {
namespace {

#define INTEGERS "u16 s16 u32 s32 u64 s64"
#define FLOATS "f32 f64 f16 f16x2 bf16 bf16x2"
#define HALVES "f16 f16x2 bf16 bf16x2"
#define NUMBERS INTEGERS " " FLOATS
#define BITS "b16 b32 b64"
#define ALL_BITS "pred b16 b32 b64"
#define WIDE INTEGERS " b16 b32 b64 f16 bf16 f32 f64"
#define MEMORY "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64"
#define ROUNDED "rn|rz|rm|rp ftz sat"
#define SPACES "global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func"
#define SCOPES "cta|cluster|gpu|sys"
#define HINTS                                                                            \
  "ca|cg|cs|cv|lu|wb|wt|nc|unified "                                                     \
  "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate " \
  "L2::64B|L2::128B|L2::256B L2::evict_normal|L2::evict_first|L2::evict_last L2::cache_hint"
#define COMPARISONS "!eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor ftz"

constexpr row rows[] = {
    // -- integers and floats
    {"add", form::call, ROUNDED " cc", NUMBERS " u16x2 s16x2", "d a b", "a + b; .cc sets the carry"},
    {"addc", form::call, "cc", "u32 s32 u64 s64", "d a b", "a + b + carry"},
    {"sub", form::call, ROUNDED " cc", NUMBERS, "d a b", "a - b; .cc sets the borrow"},
    {"subc", form::call, "cc", "u32 s32 u64 s64", "d a b", "a - b - borrow"},
    {"mul", form::call, "lo|hi|wide " ROUNDED, NUMBERS, "d a b", "a * b: its low half, its high half, or all of it"},
    {"mul24", form::call, "!lo|hi", "u32 s32", "d a b", "product of the low 24 bits"},
    {"mad", form::call, "lo|hi|wide cc " ROUNDED, INTEGERS " f32 f64", "d a b c:wide", "a * b + c; of floats as fma"},
    {"madc", form::call, "!lo|hi cc", "u32 s32 u64 s64", "d a b c", "a * b + c + carry"},
    {"mad24", form::call, "!lo|hi", "u32 s32", "d a b c", "mul24 + c"},
    {"fma", form::call, ROUNDED, FLOATS, "d a b c", "a * b + c, rounded once"},
    {"fma", form::call, "!rn ftz !relu", HALVES, "d a b c", "the same, and 0 where that is less"},
    {"div", form::call, ROUNDED " approx full", INTEGERS " f32 f64", "d a b",
     "a / b; approximate forms are the CPU's quotient"},
    {"rem", form::call, "", INTEGERS, "d a b", "remainder"},
    {"abs", form::call, "ftz", "s16 s32 s64 " FLOATS, "d a", "absolute value"},
    {"neg", form::call, "ftz", "s16 s32 s64 " FLOATS, "d a", "negation"},
    {"min", form::call, "ftz NaN", NUMBERS " u16x2 s16x2", "d a b ?c", "the smaller"},
    {"min", form::call, "ftz NaN !xorsign !abs", "f32 " HALVES, "d a b",
     "the smaller of the magnitudes, with the signs' exclusive or"},
    {"min", form::call, "ftz NaN !abs", "f32", "d a b c", "the smaller of the magnitudes"},
    {"min", form::call, "!relu", "s32 s16x2", "d a b", "the smaller, and 0 where that is less"},
    {"max", form::call, "ftz NaN", NUMBERS " u16x2 s16x2", "d a b ?c", "the greater"},
    {"max", form::call, "ftz NaN !xorsign !abs", "f32 " HALVES, "d a b",
     "the greater of the magnitudes, with the signs' exclusive or"},
    {"max", form::call, "ftz NaN !abs", "f32", "d a b c", "the greater of the magnitudes"},
    {"max", form::call, "!relu", "s32 s16x2", "d a b", "the greater, and 0 where that is less"},
    {"sad", form::call, "", INTEGERS, "d a b c", "|a - b| + c"},
    {"rcp", form::call, ROUNDED " approx", "f32 f64", "d a", "1 / a, as the CPU has it"},
    {"sqrt", form::call, ROUNDED " approx", "f32 f64", "d a", "square root, as the CPU has it"},
    {"rsqrt", form::call, "approx ftz", "f32 f64", "d a", "1 / square root, as the CPU has it"},
    {"sin", form::call, "approx ftz", "f32", "d a", "sine, as the CPU has it"},
    {"cos", form::call, "approx ftz", "f32", "d a", "cosine, as the CPU has it"},
    {"lg2", form::call, "approx ftz", "f32", "d a", "binary logarithm, as the CPU has it"},
    {"ex2", form::call, "approx ftz", "f32 f16 f16x2 bf16 bf16x2", "d a", "power of 2, as the CPU has it"},
    {"tanh", form::call, "approx", "f32 f16 f16x2 bf16 bf16x2", "d a", "hyperbolic tangent, as the CPU has it"},
    {"copysign", form::call, "", "f32 f64", "d a b", "b with the sign of a"},
    {"testp", form::call, "!finite|infinite|number|notanumber|normal|subnormal", "f32 f64", "d:pred a",
     "what kind of number"},
    // -- bits
    {"and", form::call, "", ALL_BITS, "d a b", "a & b"},
    {"or", form::call, "", ALL_BITS, "d a b", "a | b"},
    {"xor", form::call, "", ALL_BITS, "d a b", "a ^ b"},
    {"not", form::call, "", ALL_BITS, "d a", "~a"},
    {"cnot", form::call, "", BITS, "d a", "whether a is 0"},
    {"shl", form::call, "", BITS, "d a b:u32", "shift to the left; by more than there are bits: 0"},
    {"shr", form::call, "", BITS " " INTEGERS, "d a b:u32", "shift to the right, with the sign of s types"},
    {"shf", form::call, "!l|r !clamp|wrap", "b32", "d a b c:u32", "32 bits of b:a, shifted"},
    {"lop3", form::call, "", "b32", "d a b c i:u32", "any function of three bits"},
    {"lop3", form::call, "!and|or", "b32", "d|p a b c i:u32 q:pred",
     "and whether any bit of it is set, joined with another predicate"},
    {"prmt", form::call, "f4e|b4e|rc8|ecl|ecr|rc16", "b32", "d a b c", "four of eight bytes"},
    {"bfe", form::call, "", "u32 s32 u64 s64", "d a b:u32 c:u32", "c bits of a from bit b"},
    {"bfi", form::call, "", "b32 b64", "d a b c:u32 e:u32", "b with e bits from bit c replaced by a"},
    {"bfind", form::call, "shiftamt", "u32 s32 u64 s64", "d:u32 a", "the highest bit that is not the sign"},
    {"bmsk", form::call, "!clamp|wrap", "b32", "d a b", "b bits from bit a"},
    {"szext", form::call, "!clamp|wrap", "u32 s32", "d a b:u32", "b low bits, extended"},
    {"fns", form::call, "", "b32", "d a b:u32 c:s32", "the c-th bit that is set, from bit b"},
    {"popc", form::call, "", "b32 b64", "d:u32 a", "count of bits"},
    {"clz", form::call, "", "b32 b64", "d:u32 a", "count of leading zeros"},
    {"brev", form::call, "", "b32 b64", "d a", "bits in the other order"},
    {"dp4a", form::call, "", "u32 s32 / u32 s32", "d:u32 a b c:u32", "sum of four products of bytes, + c"},
    {"dp2a", form::call, "!lo|hi", "u32 s32 / u32 s32", "d:u32 a b c:u32", "sum of two products, + c"},
    {"vabsdiff4", form::call, "sat", "u32 s32 / u32 s32 / u32 s32", "d a b c", "|a - b| of four bytes"},
    {"vabsdiff4", form::call, "!add", "u32 s32 / u32 s32 / u32 s32", "d a b c", "their sum, + c"},
    {"vabsdiff2", form::call, "sat", "u32 s32 / u32 s32 / u32 s32", "d a b c", "|a - b| of two halves"},
    {"vabsdiff2", form::call, "!add", "u32 s32 / u32 s32 / u32 s32", "d a b c", "their sum, + c"},
    // -- comparison and choice
    {"setp", form::call, COMPARISONS, WIDE " f16x2 bf16x2", "d|p a b ?c:pred",
     "whether a comparison holds; and the contrary"},
    {"set", form::call, COMPARISONS, "u16 s16 u32 s32 f16 bf16 f32 / " WIDE, "d a:2 b:2 ?c:pred",
     "all bits, or 1.0, where a comparison holds"},
    {"set", form::call, COMPARISONS, "u32 s32 f16x2 / f16x2", "d a:2 b:2 ?c:pred",
     "the same of halves, each by itself"},
    {"set", form::call, COMPARISONS, "u32 s32 bf16x2 / bf16x2", "d a:2 b:2 ?c:pred", "likewise"},
    {"selp", form::call, "", WIDE, "d a b c:pred", "c ? a : b"},
    {"slct", form::call, "ftz", WIDE " / s32 f32", "d a b c:2", "c >= 0 ? a : b"},
    // -- conversion
    {"cvt", form::call, "rn|rz|rm|rp|rna|rni|rzi|rmi|rpi ftz sat",
     "u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64 / u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64", "d a:2",
     "conversion, rounded as it says"},
    {"cvt", form::call, "!rn|rz !relu satfinite", "f16 bf16 / f32", "d a:2", "and 0 where that is less"},
    {"cvt", form::call, "!rn|rz !satfinite", "f16 bf16 / f32", "d a:2", "the highest number where that is more"},
    {"cvt", form::call, "!rn|rz relu satfinite", "f16x2 bf16x2 / f32", "d a:2 b:2", "of two numbers"},
    {"cvt", form::call, "!rn !satfinite relu", "e4m3x2 e5m2x2 / f32", "d a:2 b:2", "of two numbers, to 8 bits each"},
    {"cvt", form::call, "!rn !satfinite relu", "e4m3x2 e5m2x2 / f16x2", "d a:2", "likewise"},
    {"cvt", form::call, "!rn relu", "f16x2 / e4m3x2 e5m2x2", "d a:2", "back"},
    {"cvt", form::call, "!pack !sat", "u16 s16 / s32", "d:u32 a:2 b:2", "two integers made smaller"},
    {"cvt", form::call, "!pack !sat !b32", "u2 s2 u4 s4 u8 s8 / s32", "d:u32 a:2 b:2 c:u32",
     "two integers made smaller, the lower bits of c before them"},
    {"cvta", form::call, "to !global|shared|shared::cta|shared::cluster|local|const|param|param::entry", "u32 u64",
     "d a", "generic address to one of a state space, and back"},
    {"isspacep", form::call, "!global|shared|shared::cta|shared::cluster|local|const|param|param::entry", "",
     "d:pred a:u64", "whether a generic address is in that state space"},
    {"mov", form::move, "", "pred b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f16 bf16 f32 f64", "d a",
     "a register, constant, address, special register; {..} packs and unpacks"},
    // -- memory
    {"ld", form::load, "weak|volatile|mmio relaxed|acquire " SCOPES " " SPACES " " HINTS " v2|v4|v8", MEMORY,
     "d [a] ?policy", "load; weak ones are plain accesses, volatile ones relaxed at system scope"},
    {"ldu", form::load, "global v2|v4", MEMORY, "d [a]", "plain load"},
    {"st", form::store, "weak|volatile|mmio relaxed|release " SCOPES " " SPACES " " HINTS " v2|v4|v8", MEMORY,
     "[a] b ?policy", "store"},
    {"atom", form::atomic,
     "relaxed|acquire|release|acq_rel " SCOPES " global|shared|shared::cta|shared::cluster noftz L2::cache_hint "
     "!and|or|xor|exch|cas|add|inc|dec|min|max v2|v4|v8",
     "b16 b32 b64 b128 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", "d [a] b ?c ?policy",
     "read-modify-write; relaxed at gpu scope unless it says more; of a vector: one of each value"},
    {"red", form::atomic,
     "relaxed|release " SCOPES
     " global|shared|shared::cta|shared::cluster noftz L2::cache_hint !and|or|xor|add|inc|dec|min|max v2|v4|v8",
     "b32 b64 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", "[a] b ?policy", "the same without a result"},
    {"multimem", form::multimem,
     "!ld_reduce weak|relaxed|acquire " SCOPES " global !add|min|max|and|or|xor acc::f32 v2|v4|v8",
     "b32 b64 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", "d [a]",
     "loads from the memory of each device that the address stands for, made one value"},
    {"multimem", form::multimem, "!st weak|relaxed|release " SCOPES " global v2|v4|v8",
     "b32 b64 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", "[a] b", "stores, likewise"},
    {"multimem", form::multimem, "!red relaxed|release " SCOPES " global !add|min|max|and|or|xor v2|v4|v8",
     "b32 b64 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", "[a] b", "read-modify-writes, likewise"},
    {"cp", form::bulk,
     "!async !bulk global|shared::cluster|shared::cta shared::cta|global mbarrier::complete_tx::bytes|bulk_group "
     "L2::cache_hint commit_group|wait_group|prefetch L2 read",
     "", "?[a] ?[b] ?c ?d ?policy",
     "copy beside the block, by an actor of its own, between global memory and that of the block; addresses and size "
     "are "
     "multiples of 16"},
    {"cp", form::copy,
     "!async ca|cg shared|shared::cta global L2::64B|L2::128B|L2::256B commit_group|wait_group|wait_all|mbarrier "
     "arrive noinc b64",
     "", "?[a] ?[b] ?c ?d", "copy to memory of the block, made when its lane waits for it"},
    {"mbarrier", form::mbarrier,
     "!init|inval|arrive|arrive_drop|expect_tx|complete_tx|test_wait|try_wait|pending_count expect_tx noComplete "
     "parity relaxed|acquire|release "
     "cta|cluster shared|shared::cta|shared::cluster",
     "b64", "?d [a] ?b ?c",
     "a word by which lanes meet: arrivals release and waits acquire, at cta scope, unless they say more; .try_wait is "
     "as .test_wait"},
    {"barrier", form::call, "!cluster !arrive|wait release|acquire|relaxed aligned", "", "",
     "the barrier of a cluster: what comes before it is released, what comes behind it acquires"},
    {"mapa", form::call, "shared::cluster", "u32 u64", "d a b:u32",
     "the same shared memory in the block of that number in the cluster"},
    {"getctarank", form::call, "shared::cluster", "u32 u64", "d:u32 a",
     "the number in the cluster of the block whose shared memory it is"},
    {"fence", form::call, "mbarrier_init sc|acq_rel|acquire|release " SCOPES, "", "",
     "fence; .sc of sequential consistency"},
    {"fence", form::call, "!proxy !async|alias global|shared::cta|shared::cluster", "", "",
     "what came before it comes to bulk copies behind it; .alias: nothing, as memory is the same at all its addresses"},
    {"membar", form::call, "!cta|gl|sys", "", "", "fence of sequential consistency"},
    {"prefetch", form::nothing, "global|local|const|param L1|L2|L2::evict_last|L2::evict_normal tensormap", "", "[a]",
     "a hint: nothing"},
    {"prefetchu", form::nothing, "L1", "", "[a]", "a hint: nothing"},
    {"applypriority", form::nothing, "global L2::evict_normal", "", "[a] b", "a hint: nothing"},
    // -- flow
    {"bra", form::jump, "uni", "", "a", "jump"},
    {"brx", form::jump, "!idx uni", "", "a:u32 b", "jump to one of a list"},
    {"call", form::function, "uni", "", "?r f ?a ?p", "call, also through a pointer"},
    {"ret", form::leave, "uni", "", "", "return"},
    {"exit", form::leave, "", "", "", "end of the lane; in kernels alone"},
    {"trap", form::call, "", "", "", "ends the run with verdict assertion"},
    {"brkpt", form::call, "", "", "", "as trap"},
    {"nanosleep", form::call, "", "u32", "a", "the end of a turn in a loop that waits"},
    {"griddepcontrol", form::call, "!launch_dependents|wait", "", "",
     "lets the kernel behind begin, where that was launched so; waits for the end of the one before"},
    {"setmaxnreg", form::nothing, "!inc|dec !sync !aligned", "u32", "a", "nothing"},
    {"pmevent", form::nothing, "mask", "", "a", "nothing"},
    // -- lanes
    {"bar", form::barrier, "cta !sync|arrive|red|warp sync aligned popc|and|or", "u32 pred", "?d ?a ?b ?c",
     "barrier of the block, or of lanes of a warp"},
    {"barrier", form::barrier, "cta !sync|arrive|red aligned popc|and|or", "u32 pred", "?d ?a ?b ?c",
     "barrier of the block"},
    {"shfl", form::call, "!sync !up|down|bfly|idx", "b32", "d|p a b:u32 c:u32 e:u32", "the value of another lane"},
    {"vote", form::call, "!sync !all|any|uni|ballot", "pred b32", "d a:pred b:u32", "what the lanes of a mask say"},
    {"match", form::call, "!any|all !sync", "b32 b64", "d|p a b:u32", "which lanes have this value"},
    {"redux", form::call, "!sync !add|min|max|and|or|xor", "u32 s32 b32", "d a b:u32", "one value of all lanes"},
    {"activemask", form::call, "", "b32", "d", "the lanes that stand there together"},
    {"elect", form::call, "!sync", "", "d|p a:u32", "the lowest lane of a mask"},
};

std::vector<std::string_view> words_of(std::string_view text, char between = ' ') {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const size_t end = std::min(text.find(between), text.size());
    if (end != 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

bool contains(const std::vector<std::string_view>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// The lists of types that an instruction has, each of them split.
std::vector<std::vector<std::string_view>> type_lists(const row& of) {
  std::vector<std::vector<std::string_view>> lists;
  for (const std::string_view list : words_of(of.types, '/')) lists.push_back(words_of(list));
  return lists;
}

/// Fills the types and modifiers; says what is wrong.
std::string sort_out(const row& of, const instruction& what, matched& into) {
  const auto lists = type_lists(of);
  const std::vector<std::string_view> groups = words_of(of.modifiers);
  std::vector<bool> present(groups.size(), false);
  for (const std::string& part : what.modifiers) {
    if (into.types.size() < lists.size() && contains(lists[into.types.size()], part)) {
      into.types.push_back(part);
      continue;
    }
    bool known = false;
    for (size_t n = 0; n < groups.size() && !known; ++n) {
      std::string_view group = groups[n];
      if (group.starts_with('!')) group.remove_prefix(1);
      if (present[n] || !contains(words_of(group, '|'), part)) continue;
      present[n] = known = true;
    }
    if (!known) return "." + part + " is not known there";
    into.modifiers.push_back(part);
  }
  for (size_t n = 0; n < groups.size(); ++n)
    if (groups[n].starts_with('!') && !present[n]) return "one of " + std::string(groups[n].substr(1)) + " is missing";
  return {};
}

/// Whether the count of operands is one that the row allows.
bool fits(const row& of, size_t count) {
  size_t least = 0;
  size_t most = 0;
  for (const std::string_view one : words_of(of.operands)) {
    ++most;
    if (!one.starts_with('?')) ++least;
  }
  return count >= least && count <= most;
}

}  // namespace

std::span<const row> table() { return rows; }

std::string opcode_of(const instruction& what) {
  std::string text = what.name;
  for (const std::string& part : what.modifiers) text += "." + part;
  return text;
}

matched match(const instruction& what) {
  matched best;
  best.wrong = "there is no such instruction in the table (heddle-ptx --table)";
  for (const row& one : rows) {
    if (what.name != one.name) continue;
    matched found;
    found.of = &one;
    found.wrong = sort_out(one, what, found);
    if (found.wrong.empty() && found.types.size() < type_lists(one).size() && one.how != form::barrier)
      found.wrong = "a type is missing";
    if (found.wrong.empty() && !fits(one, what.operands.size())) found.wrong = "it has another number of operands";
    if (found.wrong.empty()) return found;
    // Of several rows, what is wrong by the one that knows most of it.
    if (best.of == nullptr || found.modifiers.size() > best.modifiers.size()) best = std::move(found);
  }
  return best;
}

std::string table_as_markdown() {
  std::string text = "| instruction | modifiers | types | operands | what it does |\n|---|---|---|---|---|\n";
  const auto cell = [](std::string_view from) {
    std::string made;
    for (const char c : from) {
      if (c == '!') continue;
      made += c == '|' ? std::string("\\|") : std::string(1, c);
    }
    return made;
  };
  for (const row& one : rows)
    text += "| `" + std::string(one.name) + "` | " + cell(one.modifiers) + " | " + one.types + " | " +
            cell(one.operands) + " | " + cell(one.does) + " |\n";
  return text;
}

}  // namespace heddle::ptx
