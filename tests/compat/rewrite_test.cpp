// What the rewriter makes of a text, token by token.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "host_instructions.h"
#include "rewrite.h"
#include "thread_locals.h"

namespace {

using heddle::rewrite::result;
using heddle::rewrite::rewrite;

std::string made_of(const std::string& text) {
  const result made = rewrite(text, "test");
  EXPECT_TRUE(made.errors.empty()) << made.errors.front();
  return made.text;
}

/// Whether the text stays as it is.
bool is_left_alone(const std::string& text) { return made_of(text) == text; }

TEST(rewriter, makes_launches_calls) {
  EXPECT_EQ(made_of("void f() { k<<<1, 2>>>(a, b); }"),
            "void f() { ::heddle::compat::launch([=](auto&... heddle_arguments) { k(heddle_arguments...); }, "
            "::heddle::compat::shape(1, 2), a, b); }");
  EXPECT_EQ(
      made_of("void f() { n::k<int, g(1)> <<< 1, 2, 3, s >>> (); }"),
      "void f() { ::heddle::compat::launch([=](auto&... heddle_arguments) { n::k<int, g(1)> (heddle_arguments...); }, "
      "::heddle::compat::shape( 1, 2, 3, s ) ); }");
  EXPECT_EQ(
      made_of("void f() { return (*p[2])<<<h(x >> 1), 2>>>(0); }"),
      "void f() { return ::heddle::compat::launch([=](auto&... heddle_arguments) { (*p[2])(heddle_arguments...); }, "
      "::heddle::compat::shape(h(x >> 1), 2), 0); }");
}

TEST(rewriter, leaves_an_argument_in_braces_to_the_parameter) {
  EXPECT_EQ(made_of("void f() { k<1><<<g, {2, 3}>>>(g({}), {4, 5}); }"),
            "void f() { ::heddle::compat::launch_of(k<1>, ::heddle::compat::shape(g, {2, 3}), g({}), {4, 5}); }");
}

TEST(rewriter, gives_launches_the_clusters_of_their_kernel) {
  const auto has = [](const std::string& text, const std::string& part) {
    return made_of(text).find(part) != std::string::npos;
  };
  const std::string launch = " void f() { n::k<<<4, 2>>>(); }";
  const std::string in_clusters = "::heddle::compat::in_clusters({2 , 1 , 1}, ::heddle::compat::shape(4, 2))";
  const std::string checks = "{ ::heddle::compat::check_clusters({2 , 1 , 1});";
  EXPECT_TRUE(has("__global__ void __cluster_dims__(2, 1, 1) k() {}" + launch, in_clusters));
  EXPECT_TRUE(has("template <int N> __global__ void __cluster_dims__(2, 1, 1) k() {}", checks));
  // By a declaration alone.
  const std::string declared = "__global__ void __cluster_dims__(2, 1, 1) k(); __global__ void k() {}";
  EXPECT_TRUE(has(declared + launch, in_clusters));
  EXPECT_TRUE(has(declared, checks));
  EXPECT_TRUE(has(declared, "(&k), {2 , 1 , 1}); }"));
  EXPECT_FALSE(has("__global__ void k() {}" + launch, "clusters"));
  EXPECT_FALSE(has(declared, "__cluster_dims__"));
}

TEST(rewriter, has_kernels_look_at_their_launch_bounds) {
  const std::string checks = "{ ::heddle::compat::check_launch_bounds(N , 2);";
  for (const char* const text :
       {"__global__ void __launch_bounds__(N, 2) k() {}", "__global__ __launch_bounds__(N, 2) void k() {}",
        "__launch_bounds__(N, 2) __global__ void k() {}",
        "template <int N> __launch_bounds__(N, 2) __global__ void k() {}"}) {
    const std::string made = made_of(text);
    EXPECT_NE(made.find(checks), std::string::npos) << made;
    EXPECT_EQ(made.find("__launch_bounds__"), std::string::npos) << made;
    EXPECT_EQ(made.find("heddle_knows_k") != std::string::npos, text[0] != 't') << made;
  }
  EXPECT_EQ(made_of("__device__ void __launch_bounds__(N) f() {}").find("launch_bounds"), std::string::npos);
}

TEST(rewriter, keeps_every_line_where_it_is) {
  const std::string text =
      "# 1 \"a.cu\"\nvoid f()\n{\n  k\n  <<<\n  1,\n  2>>>(\n  a);\n}\n__global__ void k() {\n__shared__ int t[2],\n "
      "u;\n}\n";
  const std::string made = made_of(text);
  EXPECT_EQ(std::count(made.begin(), made.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
}

TEST(rewriter, leaves_strings_comments_and_shifts_alone) {
  EXPECT_TRUE(is_left_alone("const char* a = \"k<<<1, 2>>>(3) __shared__ int x;\";\n"));
  EXPECT_TRUE(is_left_alone("const char* a = R\"x(k<<<1>>>() )\" )x\";\n"));
  EXPECT_TRUE(is_left_alone("// k<<<1, 2>>>(3)\n/* __device__ k<<<1>>>() */ int a = '<' << 2 >> 1;\n"));
  EXPECT_TRUE(is_left_alone("# 12 \"k<<<1>>>().cu\"\n#pragma __device__\nint n = 1'000 << 2;\n"));
}

TEST(rewriter, takes_out_pragmas_that_macros_have_made) {
  EXPECT_EQ(made_of("void f() {\n  #pragma unroll\n  for (;;) {}\n}"), "void f() {\n  \n  for (;;) {}\n}");
  EXPECT_EQ(made_of("  # pragma unroll 4"), "  ");
  for (const char* text : {"#pragma once\nint a;", "const char* s = R\"(\n  #pragma unroll\n)\";"})
    EXPECT_TRUE(is_left_alone(text)) << text;
}

TEST(rewriter, joins_the_literals_of_a_constraint) {
  const std::string apart = made_of("void f(double d) { asm(\"neg.f64 %0, %1;\" : \"=\" \"d\"(d) : \"\" \"d\"(d)); }");
  EXPECT_EQ(apart, made_of("void f(double d) { asm(\"neg.f64 %0, %1;\" : \"=d\"(d) : \"d\"(d)); }"));
  EXPECT_NE(apart.find("i_neg"), std::string::npos) << apart;
}

TEST(rewriter, lets_shared_memory_be_aligned_behind_its_name) {
  EXPECT_EQ(made_of("void f() { __shared__ alignas(2 * (8)) int t[4]; }"),
            "void f() { struct heddle_shared_5 {  __attribute__((aligned(2 * (8)))) int t[4]; }; static char "
            "heddle_shared_5_t; [[maybe_unused]] auto& t = "
            "::heddle::compat::shared_variable<decltype(heddle_shared_5::t)>(heddle_shared_5_t, \"t\"); }");
  const std::string attribute = made_of("void f() { [[maybe_unused]] __shared__ int t; }");
  EXPECT_NE(attribute.find("{ struct heddle_shared_10 { [[maybe_unused]]  int t; };"), std::string::npos) << attribute;
  const std::string before = made_of("void f() { alignas(16) volatile __shared__ int t; }");
  EXPECT_NE(before.find("struct heddle_shared_10 { __attribute__((aligned(16))) volatile  int t; };"),
            std::string::npos)
      << before;
}

TEST(rewriter, gives_each_block_its_own_shared_memory) {
  EXPECT_EQ(
      made_of("void f() { __shared__ float t[N][M + 1]; }"),
      "void f() { struct heddle_shared_5 {  float t[N][M + 1]; }; static char heddle_shared_5_t; [[maybe_unused]] "
      "auto& t = ::heddle::compat::shared_variable<decltype(heddle_shared_5::t)>(heddle_shared_5_t, \"t\"); }");
  EXPECT_EQ(made_of("void f() { extern __shared__ float t[]; }"),
            "void f() { struct heddle_shared_6 {   float t[1]; }; [[maybe_unused]] auto* const t = "
            "::heddle::compat::dynamic_shared<decltype(heddle_shared_6::t)>(); }");
  EXPECT_EQ(made_of("extern __shared__ int t[]; extern __shared__ int t[];"),
            "struct heddle_shared_1 {   int t[1]; }; [[maybe_unused]] static const "
            "::heddle::compat::dynamic_shared_array<decltype(heddle_shared_1::t)> t; struct heddle_shared_8 {   int "
            "t[1]; };");
  const std::string outside = made_of(
      "extern __shared__ char t[]; void f(char* u) { reinterpret_cast<a<int>*>(t); reinterpret_cast<int*>(u); "
      "reinterpret_cast<int*>(t + 1); }");
  EXPECT_NE(outside.find("reinterpret_cast<a<int>*>(+t); reinterpret_cast<int*>(u); reinterpret_cast<int*>(t + 1);"),
            std::string::npos)
      << outside;
  EXPECT_EQ(made_of("void f() { __shared__ __attribute__((aligned(8))) std::array<int, (2 > 1)> a, *b; }"),
            "void f() { struct heddle_shared_5 {  __attribute__((aligned(8))) std::array<int, (2 > 1)> a, *b; }; "
            "static char heddle_shared_5_a; [[maybe_unused]] auto& a = "
            "::heddle::compat::shared_variable<decltype(heddle_shared_5::a)>(heddle_shared_5_a, \"a\"); "
            "static char heddle_shared_5_b; [[maybe_unused]] auto& b = "
            "::heddle::compat::shared_variable<decltype(heddle_shared_5::b)>(heddle_shared_5_b, \"b\"); }");
}

TEST(rewriter, has_variables_of_the_device_begin_anew_and_leaves_functions_alone) {
  const std::string section = "__attribute__((section(\"heddle_device\")))";
  EXPECT_EQ(made_of("__device__ int a = 1;"), section + " int a = 1;");
  EXPECT_EQ(made_of("static __device__ std::array<int, 3> a[2];"), "static " + section + " std::array<int, 3> a[2];");
  EXPECT_EQ(made_of("namespace n { __constant__ float a[4]; }"), "namespace n { " + section + " float a[4]; }");
  EXPECT_EQ(made_of("__device__ int f(int a = 1) { return a; }"), " int f(int a = 1) { return a; }");
  EXPECT_EQ(made_of("template <int N> __host__ __device__ T f();"), "template <int N>   T f();");
  EXPECT_EQ(made_of("__device__ const int table[] = {1};"), " const int table[] = {1};");
  EXPECT_EQ(made_of("auto l = [=] __device__ (int a) { return a; };"), "auto l = [=]  (int a) { return a; };");
  EXPECT_EQ(made_of("struct s { __device__ s& operator=(const s&); };"), "struct s {  s& operator=(const s&); };");
}

TEST(rewriter, takes_noinline_for_what_it_means_where_it_stands) {
  EXPECT_EQ(made_of("__noinline__ void f();"), "__attribute__((noinline)) void f();");
  EXPECT_TRUE(is_left_alone("__attribute__((__noinline__)) void f();"));
}

TEST(rewriter, makes_main_a_scenario) {
  const std::string made = made_of("# 7 \"dir/a.cu\"\nint main(int n, char** a) { if (n) return 2; }\n");
  EXPECT_NE(made.find("static int heddle_main(int n, char** a) { if (n) return 2; return 0; }"), std::string::npos)
      << made;
  EXPECT_NE(made.find("# 7 \"dir/a.cu\"\nnamespace heddle"), std::string::npos) << made;
  EXPECT_NE(made.find("register_main(\"test\""), std::string::npos) << made;
  const std::string guarded = made_of("int main() try { f(); } catch (int) { } catch (...) { return 1; }");
  EXPECT_NE(
      guarded.find("static int heddle_main() try { f(); return 0; } catch (int) { return 0; } catch (...) { return 1; "
                   "return 0; }"),
      std::string::npos)
      << guarded;
  EXPECT_TRUE(is_left_alone("struct s { int main; }; int f(int main_size) { return main_size; }"));
}

TEST(rewriter, says_where_and_what_it_does_not_understand) {
  const auto error_of = [](const std::string& text) {
    const result made = rewrite(text, "test");
    return made.errors.empty() ? std::string() : made.errors.front();
  };
  EXPECT_EQ(error_of("# 1 \"a.cu\"\n\nvoid f() { k<<<1, 2; }"),
            "a.cu:2: error: this launch is not understood; write kernel<<<grid, block, ...>>>(arguments), or call "
            "cudaLaunchKernel");
  EXPECT_EQ(
      error_of("# 1 \"a.cu\"\nvoid f() {\n__shared__ int x = 1; }"),
      "a.cu:2: error: this __shared__ declaration is not understood; declare one variable, without an initial value");
  EXPECT_EQ(error_of("# 4 \"a.cu\"\nvoid f() { extern __shared__ int x[4]; }"),
            "a.cu:4: error: dynamic shared memory is an array without a length: extern __shared__ T name[]");
}

TEST(rewriter, takes_the_type_before_the_word) {
  EXPECT_EQ(made_of("void f() { extern float __shared__ t[]; }"),
            "void f() { struct heddle_shared_7 {  float  t[1]; }; [[maybe_unused]] auto* const t = "
            "::heddle::compat::dynamic_shared<decltype(heddle_shared_7::t)>(); }");
}

TEST(rewriter, tells_a_grid_from_members_and_whole_values) {
  EXPECT_EQ(made_of("int f() { return a ? b : threadIdx.x; }"),
            "int f() { return a ? b : ::heddle::compat::value_of(threadIdx).x; }");
  EXPECT_TRUE(is_left_alone("int f() { p.gridDim.x = q->blockDim.x + s::blockIdx.y; }"));
  EXPECT_EQ(made_of("void f(dim3 gridDim) { auto at = threadIdx; }"),
            "void f(dim3 gridDim) { auto at = ::heddle::compat::value_of(threadIdx); }");
  EXPECT_TRUE(is_left_alone("void f(dim3 gridDim) { dim3 blockDim = {1}; g(threadIdx, blockDim); }"));
}

TEST(rewriter, warns_of_an_instruction_that_is_not_simulated) {
  const result made =
      rewrite("# 3 \"a.cu\"\nvoid f() { asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\"); }", "test");
  EXPECT_TRUE(made.errors.empty());
  ASSERT_EQ(made.warnings.size(), 1U);
  EXPECT_TRUE(
      made.warnings.front().starts_with("a.cu:3: warning: inline PTX: `tcgen05.wait::ld.sync.aligned`: not simulated"));
  EXPECT_NE(made.text.find("refuse_call"), std::string::npos);
}

TEST(rewriter, warns_of_a_name_that_means_something_else_on_a_gpu) {
  const std::string header = "# 9 \"hip_host.h\"\nconstexpr unsigned int hipHostMallocNonCoherent = 1;\n";
  const std::string use =
      "# 4 \"a.hip\"\nvoid f(int** p) { g(p, hipHostMallocNonCoherent | hipHostMallocNonCoherent); }";
  EXPECT_TRUE(rewrite(header, "test").warnings.empty());
  const result made = rewrite(header + use, "test");
  ASSERT_EQ(made.warnings.size(), 1U);
  EXPECT_TRUE(made.warnings.front().starts_with("a.hip:4: warning: hipHostMallocNonCoherent: simulated as coherent"));
  EXPECT_TRUE(made.errors.empty());
}

TEST(rewriter, knows_assembly_of_amd_from_that_of_the_host) {
  const std::string barrier = R"x(__asm__ volatile("" ::: "memory"); )x";
  EXPECT_EQ(made_of(R"x(void f() { asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory"); })x"),
            "void f() { do { " + barrier + "} while (false); }");
  EXPECT_EQ(
      made_of(R"x(void f() { __asm__("s_nop 0\n\ts_sleep 1; v_no\n s_barrier" : :); })x"),
      "void f() { do { " + barrier + "__builtin_amdgcn_s_sleep(1); __builtin_amdgcn_s_barrier(); } while (false); }");
  EXPECT_EQ(made_of(R"x(void f() { asm volatile("; marks a place" ::: "memory"); })x"),
            "void f() { do { " + barrier + "} while (false); }");
  EXPECT_TRUE(is_left_alone(R"x(void f() { asm volatile(""); asm volatile("rep; nop"); })x"));
  EXPECT_TRUE(is_left_alone(R"x(void f(int p) { asm volatile("s_loop: pause; jmp s_loop" : "+r"(p) :: "memory"); })x"));
  const result made = rewrite(
      "# 3 \"a.hip\"\n"
      R"x(void f(int* p, int& t) { asm volatile("s_nop 0\nglobal_load_dword %0, %1, off sc0" : "=v"(t) : "v"(p)); })x",
      "test");
  EXPECT_TRUE(made.errors.empty());
  ASSERT_EQ(made.warnings.size(), 1U);
  EXPECT_EQ(made.warnings.front(),
            "a.hip:3: warning: assembly of AMD's GPUs: `global_load_dword`: not simulated; a run "
            "that comes to it ends there");
  EXPECT_NE(made.text.find("refuse_call(\"global_load_dword\""), std::string::npos);
}

std::string seen_of(const std::string& text, size_t unseen = 0) {
  const heddle::rewrite::host_instructions made = heddle::rewrite::see_host_instructions(text, false);
  EXPECT_EQ(made.unseen.size(), unseen) << text;
  return made.text;
}

TEST(rewriter, sees_fences_of_the_host) {
  EXPECT_EQ(seen_of("void f() { asm volatile(\"mfence\" ::: \"memory\"); }"), "void f() { __atomic_thread_fence(5); }");
  EXPECT_EQ(seen_of("void f() { __asm__ __volatile__ (\" lfence \\n\\t\" : : : \"memory\"); }"),
            "void f() { __atomic_thread_fence(2); }");
  EXPECT_EQ(seen_of("void f() { asm(\"lock; addl $0,0(%%rsp)\"\n::: \"memory\", \"cc\"); }"),
            "void f() { __atomic_thread_fence(5)\n; }");
  EXPECT_EQ(seen_of("void f() { __asm(\"lock orl $0x0, -4(%%esp)\" ::: \"memory\"); }"),
            "void f() { __atomic_thread_fence(5); }");
  EXPECT_EQ(
      seen_of("# 1 \"a.c\"\nvoid f() { __builtin_ia32_sfence (); }"),
      "# 1 \"a.c\"\n# 1 \"sim/compat/x86.h\" 1\nextern \"C\" void heddle_x86_sfence(); \n# 1 \"a.c\" 2\nvoid f() { "
      "heddle_x86_sfence(); }");
  EXPECT_NE(seen_of("void f(int* p) { __builtin_ia32_movnti (p, 1); }").find("{ heddle_x86_movnti (p, 1); }"),
            std::string::npos);
  const std::string others =
      "int f() asm(\"mfence_of\"); void g(int* p) { asm volatile(\"\" ::: \"memory\"); asm volatile(\"rep; nop\"); "
      "asm(\"lock; addl $1,0(%rsp)\"); __builtin_ia32_pause(); }";
  EXPECT_EQ(seen_of(others), others);
  const std::string unseen =
      "# 7 \"a.c\"\nvoid f(int* p) { asm(\"rep stosb\" : \"+D\"(p) : \"c\"(4), \"a\"(0) : \"memory\"); }";
  EXPECT_EQ(seen_of(unseen, 1), unseen);
  EXPECT_EQ(heddle::rewrite::see_host_instructions(unseen, true).unseen[0].substr(0, 15), "a.c:7: warning:");
}

TEST(rewriter, sees_accesses_of_asm_statements) {
  const auto has = [](const std::string& text, const std::string& part, size_t warnings = 0) {
    const std::string made = seen_of("# 7 \"a.c\"\nvoid f(int* p, int v) { asm volatile(" + text + "); }", warnings);
    return made.find(part) != std::string::npos && made.find("\n# 7 \"a.c\" 3\ndo { ") != std::string::npos &&
           made.ends_with("\n# 7 \"a.c\"\n; }");
  };
  EXPECT_TRUE(has("\"movl %1,%0\" : \"=m\"(*p) : \"ri\"(v) : \"memory\"", "heddle_x86_store(heddle_p0, "));
  EXPECT_TRUE(
      has("\"mov %[m],%[V]\" : [V] \"=r\"(v) : [m] \"m\"(*p) : \"memory\"", "heddle_x86_load(heddle_p1, sizeof(v))"));
  EXPECT_TRUE(has("\"xchg %0,(%1)\" : \"+r\"(v) : \"r\"(p) : \"memory\"", "heddle_x86_xchg("));
  EXPECT_TRUE(has("\"lock; cmpxchgl %2,%1\" : \"=a\"(v), \"+m\"(*p) : \"r\"(1), \"0\"(v) : \"memory\"",
                  "heddle_x86_cmpxchg(heddle_p1, &heddle_a, "));
  EXPECT_TRUE(has("\"lock decl %0\\n\\tsete %b1\" : \"+m\"(*p), \"=q\"(v) : : \"memory\", \"cc\"",
                  "heddle_x86_add(heddle_p0, "));
  EXPECT_TRUE(has("\"lock incl %0\" : \"+m\"(*p)", "heddle_x86_add(heddle_p0, ", 1));
  EXPECT_TRUE(has("\"xchg %0,%[v]\" : \"=m\"(*p), [v] \"=r\"(v) : \"[v]\"(v) : \"memory\"", "heddle_x86_xchg("));
  EXPECT_TRUE(has("\"movl %1,%0; mfence\" : \"=m\"(*p) : \"r\"(v) : \"memory\"", "; __atomic_thread_fence(5); "));
  EXPECT_TRUE(has("\"1: lock decl %0; jns 2f; 1: rep; nop; cmpl $0,%0; jle 1b; js 1b; 2:\" : \"+m\"(*p) : : \"memory\"",
                  "if (!heddle_sf) goto heddle_l8; "));
  EXPECT_TRUE(has("\"lfence; rdtsc; shlq $32,%%rdx; orq %%rdx,%0\" : \"=a\"(v) : : \"rdx\"",
                  "heddle_a = heddle_x86_rdtsc(); "));
  EXPECT_NE(seen_of("long f() { return __builtin_ia32_rdtsc (); }").find("{ return heddle_x86_rdtsc(); }"),
            std::string::npos);
  EXPECT_TRUE(has(
      "\"xchgl %0,%1\" : \"=r\"((unsigned) (int)v), \"=m\"(*(volatile unsigned *)p) : \"0\"((unsigned)v) : \"memory\"",
      "sizeof heddle_v < 8 ? sizeof heddle_v : 8); (v) = heddle_v; "));
  // What is not known is not guessed: a clock as one number that on this processor is none, a flag that nothing here tells, a jump that goes elsewhere or that comes to
  // one, a register of vectors, arithmetic that is not.
  for (const char* const other :
       {"\"rdtsc\" : \"=A\"(v)", "\"lock incl %0; setc %1\" : \"+m\"(*p), \"=q\"(v) : : \"memory\"",
        "\"1: lock decl %0; js 2b\" : \"+m\"(*p) : : \"memory\"", "\"lock decl %0; js f\" : \"+m\"(*p) : : \"memory\"",
        "\"lock decl %0; 1: js 1b\" : \"+m\"(*p) : : \"memory\"", "\"lock; 1: jmp 1b\" : \"+m\"(*p) : : \"memory\"",
        "\"cmpl $0,%0; sbbl %1,%1; setz %b1\" : \"+m\"(*p), \"=q\"(v) : : \"memory\"",
        "\"movdqa %1,%0\" : \"=m\"(*p) : \"x\"(v) : \"memory\"", "\"lock shll %0\" : \"+m\"(*p) : : \"memory\"",
        "\"cmpxchgl %1,%0\" : \"+m\"(*p) : \"r\"(v) : \"memory\"", "\"syscall\" : \"=a\"(v) : \"D\"(p) : \"memory\""}) {
    const std::string text = "# 7 \"a.c\"\nvoid f(int* p, int v) { asm volatile(" + std::string(other) + "); }";
    EXPECT_EQ(seen_of(text, 1), text);
  }
}

TEST(rewriter, asks_for_variables_of_a_thread) {
  using heddle::rewrite::ask_for_thread_locals;
  const std::string pointer = "\tcall\theddle_thread_pointer@PLT\n";
  EXPECT_EQ(ask_for_thread_locals(
                "\tdata16\tleaq\tx@tlsgd(%rip), %rdi\n\t.value\t0x6666\n\trex64\n\tcall\t__tls_get_addr@PLT\n"),
            pointer + "\taddq\tx@gottpoff(%rip), %rax\n");
  // As clang writes it.
  EXPECT_EQ(ask_for_thread_locals(
                "\tdata16\n\tleaq\tx@TLSGD(%rip), %rdi\n\tdata16\n\tdata16\n\trex64\n\tcallq\t__tls_get_addr@PLT\n"),
            pointer + "\taddq\tx@gottpoff(%rip), %rax\n");
  EXPECT_EQ(ask_for_thread_locals("\tleaq\tx@tlsld(%rip), %rdi\n\tcall\t__tls_get_addr@PLT\n\tmovl\tx@dtpoff(%rax), "
                                  "%eax\n\t.long\tx@dtpoff, 0\n"),
            pointer + "\tmovl\tx@tpoff(%rax), %eax\n\t.long\tx@dtpoff, 0\n");
  // What is no part of such a call: a number among those that tell a debugger of the program.
  EXPECT_EQ(ask_for_thread_locals("\t.byte\t0x66\n\t.value\t0x6666\n"), "\t.byte\t0x66\n\t.value\t0x6666\n");
  // The C++ library looks for its own where they are.
  EXPECT_EQ(ask_for_thread_locals("\tdata16\tleaq\t_ZSt11__once_call@tlsgd(%rip), "
                                  "%rdi\n\t.value\t0x6666\n\trex64\n\tcall\t__tls_get_addr@PLT\n"),
            "\tmovq\t%fs:0, %rax\n\taddq\t_ZSt11__once_call@gottpoff(%rip), %rax\n");
  EXPECT_TRUE(heddle::rewrite::has_thread_locals("# 1 \"a.c\"\nstatic __thread int x;\n"));
  EXPECT_FALSE(heddle::rewrite::has_thread_locals(
      "# 1 \"/usr/include/c++/12/mutex\"\nextern __thread void* x;\n# 1 \"a.c\"\nint thread_locals;\n"));
}

}  // namespace
