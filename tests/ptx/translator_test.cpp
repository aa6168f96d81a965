// PTX text: what is understood, and the one line that anything else gets.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "fat_binary.h"
#include "module.h"
#include "table.h"
#include "translate.h"

namespace {

using namespace heddle::ptx;

constexpr const char* head = ".version 8.0\n.target sm_90\n.address_size 64\n";

std::string file(const char* name) {
  std::ifstream stream(name);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

translation translated(const std::string& text) { return translate(text, {"a.ptx", ""}); }
std::string kernel(const std::string& body) {
  return head + (".visible .entry k(.param .u64 p)\n{\n" + body + "\n}\n");
}
/// The one error that a text gives.
std::string refusal(const std::string& text) {
  const translation made = translated(text);
  EXPECT_EQ(made.errors.size(), 1U) << text;
  return made.errors.empty() ? "accepted" : made.errors.front();
}
bool contains(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(ptx_text, gives_one_line_for_what_is_wrong_with_its_place) {
  EXPECT_EQ(refusal(""), "a.ptx:1: this is no PTX: a file begins with .version");
  EXPECT_EQ(refusal("int main() {}"), "a.ptx:1: this is no PTX, at \"int\"");
  EXPECT_EQ(refusal(kernel("  .reg .b32 %r;\n  add.u32 %r, %r, 1")), "a.ptx:8: a ; is missing, at \"}\"");
  EXPECT_EQ(refusal(kernel("  bra NOWHERE;")), "a.ptx:6: kernel k: `bra`: there is no label NOWHERE");
  EXPECT_EQ(refusal(kernel("  mov.u32 %r, 1;")), "a.ptx:6: kernel k: `mov.u32`: %r is no register");
  EXPECT_TRUE(contains(refusal(std::string(head) + ".visible .entry k() {"), "a } is missing"));
  EXPECT_TRUE(contains(refusal(kernel("L: ret;\nL: ret;")), "the label L stands there twice"));
  EXPECT_TRUE(contains(refusal(kernel(".local .b8 x[99999999999];")), "too large"));
  EXPECT_TRUE(contains(refusal(std::string(head) + ".address_size 32\n"), "only addresses of 64 bits"));
  EXPECT_TRUE(contains(refusal(kernel("/* no end")), "a comment without an end"));
}

TEST(ptx_text, has_constant_expressions) {
  const auto constant = [](const std::string& text) {
    const translation made = translated(kernel("  .reg .b64 %r;\n  mov.b64 %r, " + text + ";"));
    if (!made.errors.empty()) return made.errors.front();
    const size_t at = made.text.find(")(", made.text.find("v1_r = "));
    return made.text.substr(at + 2, made.text.find(");", at) - at - 2);
  };
  EXPECT_EQ(constant("7"), "7");
  EXPECT_EQ(constant("1 + 2 * 3"), "7");
  EXPECT_EQ(constant("(1+2)*3-1"), "8");
  EXPECT_EQ(constant("9 - 4 - 3"), "2");
  EXPECT_EQ(constant("1 << 2 + 1"), "8");
  EXPECT_EQ(constant("7 % 4 | 4 & 12 ^ 1"), "7");
  EXPECT_EQ(constant("-7 / 2 + 4"), "1");
  EXPECT_EQ(constant("-1 >> 63 & 3"), "3");
  EXPECT_EQ(constant("(.u64) -1 >> 63"), "1");
  EXPECT_EQ(constant("-1 < 0"), "1");
  EXPECT_EQ(constant("-1 < 0U"), "0");
  EXPECT_EQ(constant("!!255"), "1");
  EXPECT_EQ(constant("! ! !255 + 2"), "2");
  EXPECT_EQ(constant("!0 && 2 > 1 || 0"), "1");
  EXPECT_EQ(constant("-7 % 4"), "1");
  EXPECT_EQ(constant("5 % 3 - 7 < 0"), "0");
  EXPECT_EQ(constant("~0 < 0"), "0");
  EXPECT_EQ(constant("(-1 | 0) / 2"), "0");
  EXPECT_EQ(constant("1 << 65"), "2");
  EXPECT_EQ(constant("8 >> 65"), "4");
  EXPECT_EQ(constant("-1 >> 64 == -1"), "1");
  EXPECT_EQ(constant("~0 == -1 ? 3 <= 3 ? 5 : 6 : 7"), "5");
  EXPECT_EQ(constant("(.s64) 0x8000000000000000 < 0 != 0"), "1");
  EXPECT_EQ(constant("0x7fffffff+1 >= 1"), "1");
  EXPECT_EQ(constant("-+-4"), "4");
  EXPECT_TRUE(contains(constant("4 / (2 - 2)"), "a constant is divided by 0"));
  EXPECT_TRUE(contains(constant("1 + 1.5"), "a constant expression is of integers"));
  EXPECT_TRUE(contains(constant("(1 + 2"), "a ) is missing"));
  EXPECT_TRUE(contains(constant("2 * %r"), "a constant is missing"));
  EXPECT_TRUE(contains(constant("(.f32) 2"), "an .s64 or a .u64"));
  EXPECT_TRUE(contains(constant(std::string(100000, '(')), "too many brackets"));
  EXPECT_TRUE(contains(constant("1" + std::string(100000, '?')), "a constant is missing"));
  const translation placed =
      translated(kernel("  .reg .b64 %r;\n  .shared .b8 x[4*(2+2)];\n  ld.global.u64 %r, [%r + 8*(3-1) - 4*2];\n  "
                        "st.shared.b64 [x+(1<<3)], %r;"));
  ASSERT_TRUE(placed.errors.empty()) << placed.errors.front();
  EXPECT_TRUE(contains(placed.text, "((v1_r + 8))")) << placed.text;
  EXPECT_TRUE(contains(placed.text, "(\"x\", 16, ")) << placed.text;
}

TEST(ptx_text, of_several_files_has_symbols_for_what_they_share) {
  const std::string text = std::string(head) +
                           ".extern .global .align 4 .u32 total;\n"
                           ".visible .global .align 4 .u32 mine;\n"
                           ".extern .func (.param .b32 r) _Z5twicei(.param .b32 n);\n"
                           ".weak .func shared() { ret; }\n"
                           ".func only_here() { st.global.u32 [total], 1; ret; }\n";
  EXPECT_TRUE(contains(translated(text).errors.front(), "the variable total is in another file: compile it with -rdc"));
  const translation made = translated(text + std::string(linked_as) + "_12_a_cu_34\n");
  EXPECT_TRUE(made.errors.empty()) << made.errors.front();
  for (const char* expected : {"extern uint32_t total[] asm(\"total.device\")", "uint32_t mine asm(\"mine.device\")",
                               "asm(\"_Z5twicei.device\")", "[[gnu::weak]] void shared() asm(\"shared.device\")",
                               "void __cudaRegisterLinkedBinary_12_a_cu_34(", "know_variable(\"mine\""})
    EXPECT_TRUE(contains(made.text, expected)) << expected << "\n" << made.text;
  EXPECT_FALSE(contains(made.text, "only_here.device"));
  EXPECT_TRUE(contains(translated(text + std::string(linked_as) + "_x(){} int y\n").errors.front(), "is none"));
  EXPECT_FALSE(contains(made.text, "know_variable(\"total\""));
}

TEST(ptx_text, may_have_words_of_cpp_as_names) {
  const translation made =
      translated(std::string(head) + ".global .u32 class;\n.func new() { st.global.u32 [class], 1; ret; }\n");
  EXPECT_TRUE(made.errors.empty());
  EXPECT_TRUE(contains(made.text, "uint32_t class_ asm(\"class\")")) << made.text;
  EXPECT_TRUE(contains(made.text, "void new_()")) << made.text;
}

TEST(ptx_text, names_the_instruction_that_is_not_simulated) {
  EXPECT_EQ(refusal(kernel("  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%a}, {%b}, {%c}, {%d};")),
            "a.ptx:6: kernel k: `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32`: not simulated: there is no such "
            "instruction in the "
            "table (heddle-ptx --table)");
  EXPECT_TRUE(contains(refusal(kernel(".reg .b32 %r; add.rx.u32 %r, %r, %r;")), ".rx is not known there"));
  EXPECT_TRUE(contains(refusal(kernel(".reg .b32 %r; shf.l.b32 %r, %r, %r, %r;")), "one of clamp|wrap is missing"));
  EXPECT_TRUE(contains(refusal(kernel(".reg .b32 %r; add.u32 %r, %r;")), "another number of operands"));
  EXPECT_TRUE(contains(refusal(kernel("bar.arrive 1;")), "it arrives with a count"));
  EXPECT_TRUE(
      contains(refusal(kernel(".reg .b128 %r; atom.add.b128 %r, [p], %r;")), "of 128 bits there are .exch and .cas"));
  // What ptxas does not take would be left unread here.
  for (const char* const text :
       {"cvt.rn.e4m3x2.f32 %h, %r, %r", "cvt.rn.satfinite.f32.f16 %r, %h", "cvt.rzi.relu.s32.f32 %r, %r",
        "cvt.pack.sat.u8.s32 %r, %r, %r", "cvt.pack.sat.u16.s32.b32 %r, %r, %r, %r", "cvt.rn.f16x2.f32 %r, %r",
        "vabsdiff4.u32.u32.u32.sat.add %r, %r, %r, %r", "min.relu.u32 %r, %r, %r", "min.abs.f32 %r, %r, %r",
        "set.eq.f32.f16x2 %r, %r, %r", "set.eq.u16.f16x2 %h, %r, %r", "fma.rn.relu.f32 %r, %r, %r, %r"})
    EXPECT_NE(refusal(kernel(std::string(".reg .b32 %r; .reg .b16 %h; ") + text + ";")), "accepted") << text;
  EXPECT_TRUE(contains(refusal(kernel(".reg .b32 %r; mov.u32 %r, %total_smem_size;")),
                       "is no special register that is simulated"));
}

TEST(ptx_text, knows_the_persons_line_behind_inlined_calls) {
  const translation made = translated(
      kernel("  .loc 1 7 3\n  .loc 2 99 1, function_name $info, inlined_at 1 7 3\n  membar.gl;\n  membar.sys;") +
      ".file 1 \"/home/mine.cu\"\n.file 2 \"/usr/local/cuda/targets/x86_64-linux/include/theirs.hpp\"\n");
  EXPECT_TRUE(made.errors.empty());
  EXPECT_TRUE(contains(made.text, "#line 7 \"/home/mine.cu\"\n i_membar<m_gl>(); i_membar<m_sys>();"));
}

TEST(ptx_text, has_scopes_for_names_and_labels) {
  const translation made = translated(
      kernel("  .reg .b32 %r;\n  { .reg .b32 %r; L: mov.u32 %r, 1; bra L; }\n  { L: mov.u32 %r, 2; bra L; }"));
  EXPECT_TRUE(made.errors.empty()) << made.errors.front();
  EXPECT_TRUE(contains(made.text, "goto at_1_L;"));
  EXPECT_TRUE(contains(made.text, "goto at_2_L;"));
}

// No text makes it crash, or go on for ever: cut anywhere, and with bytes changed at random.
TEST(ptx_text, however_it_is_broken_gives_lines) {
  const std::string whole = file(PTX_KERNELS);
  ASSERT_TRUE(translated(whole).errors.empty()) << translated(whole).errors.front();
  for (size_t n = 0; n < whole.size(); n += 7) translated(whole.substr(0, n));
  std::mt19937 random(1);
  for (size_t n = 0; n < 2000; ++n) {
    std::string broken = whole;
    for (size_t times = 0; times < 1 + n % 5; ++times)
      broken[random() % broken.size()] =
          n % 2 == 0 ? static_cast<char>(random()) : ".{}[]();,%@|<>09aU\"\n"[random() % 20];
    const translation made = translated(broken);
    for (const std::string& error : made.errors) EXPECT_FALSE(contains(error, "\n")) << error;
  }
  std::string deep = head + std::string(".visible .entry k() {");
  EXPECT_TRUE(contains(refusal(deep + std::string(100000, '{')), "too many braces"));
  EXPECT_TRUE(contains(refusal(deep + "mov.u32 " + std::string(100000, '(')), "too many brackets"));
  EXPECT_TRUE(contains(refusal(deep + "mov.u32 %r, " + std::string(100000, '-')), "too many brackets"));
  EXPECT_TRUE(contains(refusal(deep + "mov.u32 %r, " + std::string(100000, '[')), "too many brackets"));
  EXPECT_TRUE(contains(refusal(kernel("bar.warp.sync;")), "operands are missing"));
  EXPECT_TRUE(contains(refusal(kernel("mbarrier.init.b64;")), "another number of operands"));
  EXPECT_TRUE(contains(refusal(kernel("mbarrier.arrive.b64 _;")), "operands are missing"));
  EXPECT_TRUE(contains(refusal(kernel("mbarrier.shared.init.b64 [0], 1;")), "what it does stands first"));
  EXPECT_TRUE(contains(refusal(kernel(".loc 1073741824 1 1\nret;")), "there are not so many files"));
  EXPECT_TRUE(contains(refusal(kernel(".local .b8 x[524289];")), "larger than the local memory of a thread"));
  EXPECT_TRUE(contains(refusal(kernel(".local .b8 x[4294967296][4294967296];")), "too large"));
}

// docs/ptx.md has the table as the program prints it.
TEST(ptx_text, names_functions_as_people_do_however_long_and_deep_their_symbols_are) {
  const auto named = [](const std::string& symbol) {
    const std::string text = translated(head + (".entry " + symbol + "()\n{\nret;\n}\n")).text;
    const size_t at = text.find("void ") + 5;
    return text.substr(at, text.find('(', at) - at);
  };
  EXPECT_EQ(named("_Z3addIfEvPT_"), "add");
  EXPECT_EQ(named("_ZN5space3fooIiLi3ELNS_5scopeE3EE3barEPi"), "bar");
  EXPECT_EQ(
      named("_ZN6heddle9run_lanesINS_6targetENS_44_GLOBAL__N__d4c82cf3_7_one_cpp_8baefe81_454312words_kernelEEEvjT0_"),
      "run_lanes");
  EXPECT_EQ(named("plain"), "plain");
  // What the demangler of the C++ library would make of this has more letters than a disk.
  std::string bomb = "_Z1fSt4pairIiiE";
  for (int n = 0; n < 200; ++n) bomb += "S_IS" + std::to_string(n % 10) + "_S" + std::to_string(n % 10) + "_E";
  EXPECT_EQ(named(bomb), "f");
  EXPECT_EQ(named("_ZN1a" + std::string(60000, 'I')), "a");
  EXPECT_LE(named("_Z" + std::string(60000, '9')).size(), 130U);
  EXPECT_EQ(refusal(head + (".entry " + std::string(100000, 'x') + "() { ret; }\n")),
            "a.ptx:4: a name of 100000 letters; there may be 65536");
}

template <typename Number>
std::string bytes_of(Number value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
/// An entry of a fat binary; `size` is that of what is packed in `content`, by LZ4, or 0.
std::string fat_entry(uint16_t kind, uint32_t architecture, const std::string& content, uint64_t size = 0) {
  return bytes_of(kind) + bytes_of(uint16_t{0x101}) + bytes_of(uint32_t{64}) + bytes_of(uint64_t{content.size()}) +
         bytes_of(static_cast<uint32_t>(content.size())) + std::string(8, '\0') + bytes_of(architecture) +
         std::string(8, '\0') + bytes_of(uint64_t{size != 0 ? 0x2000U : 0U}) + bytes_of(uint64_t{0}) + bytes_of(size) +
         content;
}
std::string fat_binary(const std::string& entries) {
  return bytes_of(uint32_t{0xba55ed50}) + bytes_of(uint16_t{1}) + bytes_of(uint16_t{16}) +
         bytes_of(uint64_t{entries.size()}) + entries;
}
std::string refused_binary(const std::string& content) {
  try {
    return "accepted: " + ptx_in(content).front();
  } catch (const error& wrong) {
    return wrong.message;
  }
}

TEST(fat_binary, has_the_newest_ptx_packed_or_not) {
  EXPECT_EQ(ptx_in(".version 8.0"), std::vector<std::string>{".version 8.0"});
  const std::string two =
      fat_entry(1, 80, "older") + fat_entry(2, 100, "cubin") + fat_entry(1, 90, std::string("newer\0\0", 7));
  EXPECT_EQ(ptx_in(fat_binary(two)), std::vector<std::string>{"newer"});
  EXPECT_EQ(ptx_in(fat_binary(two) + fat_binary(fat_entry(1, 75, "another"))),
            (std::vector<std::string>{"newer", "another"}));
  // 3 letters, then 9 from 3 before; then 2 letters at the end.
  EXPECT_EQ(ptx_in(fat_binary(fat_entry(1, 90,
                                        std::string("\x35"
                                                    "abc\x03\x00\x20"
                                                    "de",
                                                    9),
                                        14))),
            std::vector<std::string>{"abcabcabcabcde"});
}

TEST(fat_binary, gives_one_line_for_what_is_damaged) {
  EXPECT_EQ(refused_binary(fat_binary(fat_entry(2, 90, "cubin"))),
            "a fat binary has no PTX: give nvcc -arch=compute_90, or another code=compute_..");
  const std::string whole = fat_binary(fat_entry(1, 90, "text of the PTX"));
  for (size_t n = 17; n < whole.size(); ++n)
    EXPECT_TRUE(contains(refused_binary(whole.substr(0, n)), "too early")) << n;
  EXPECT_TRUE(contains(refused_binary(fat_binary(fat_entry(1, 90,
                                                           std::string("\x35"
                                                                       "abc\x09\x00",
                                                                       6),
                                                           14))),
                       "damaged"));
  EXPECT_TRUE(contains(refused_binary(fat_binary(fat_entry(1, 90,
                                                           "\x10"
                                                           "a",
                                                           uint64_t{1} << 40))),
                       "more than its bytes can be"));
  EXPECT_EQ(refused_binary("\177ELF"), "the object ends too early");
  std::mt19937_64 draw(1);
  const std::string several = fat_binary(fat_entry(1, 80, "older") + fat_entry(1, 90,
                                                                               std::string("\x35"
                                                                                           "abc\x03\x00\x20"
                                                                                           "de",
                                                                                           9),
                                                                               14));
  for (int n = 0; n < 20000; ++n) {
    std::string broken = several;
    for (int times = 0; times < 3; ++times) broken[draw() % broken.size()] = static_cast<char>(draw());
    (void)refused_binary(broken);
  }
}

TEST(ptx_table, stands_in_the_page_as_it_is) { EXPECT_TRUE(contains(file(PTX_PAGE), table_as_markdown())); }

// And by the modifiers that it must have, the first of its types, and as many operands as it needs: rows of one name differ in these, too.
TEST(ptx_table, finds_each_row_by_its_name) {
  for (const row& one : table()) {
    instruction what;
    what.name = one.name;
    std::istringstream groups(one.modifiers);
    for (std::string group; groups >> group;)
      if (group.front() == '!') what.modifiers.push_back(group.substr(1, group.find('|') - 1));
    std::istringstream types(one.types);
    bool is_first = true;
    for (std::string type; types >> type; is_first = type == "/")
      if (is_first && type != "/") what.modifiers.push_back(type);
    std::istringstream operands(one.operands);
    for (std::string operand; operands >> operand;)
      if (operand.front() != '?') what.operands.emplace_back();
    EXPECT_EQ(match(what).of, &one) << one.name << " stands there twice";
  }
}

TEST(ptx_table, tells_what_is_wrong_by_the_row_that_knows_most_of_it) {
  instruction what;
  what.name = "cp";
  what.modifiers = {"async", "bulk", "tensor"};
  EXPECT_EQ(match(what).wrong, ".tensor is not known there");
  what.modifiers = {"async", "ca", "elsewhere"};
  EXPECT_EQ(match(what).wrong, ".elsewhere is not known there");
}

}  // namespace
