// Programs that can be read, and what is said of those that cannot.
#include <gtest/gtest.h>
#include <heddle/tools/progress/judge/graph.h>

#include <stdexcept>
#include <string>

namespace heddle::judge {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(program, is_printed_as_it_was_read) {
  for (const std::string text : {
           "T0{0:st m0=1}",
           "T0{0:st m0=1; 1:if ld m0==0 goto 0} T1{0:if xchg(m1,255)==1 goto END; 1:xchg(m0,2)}",
           "H0{0:if ld flag==1 goto END; 1:if ld flag==0 goto 1} T0{0:st flag=1} S0{0:if xchg(ask0,0)==0 goto 0}",
       })
    EXPECT_EQ(to_string(parse(text)), text);
  EXPECT_EQ(to_string(parse(" T0 { 0 : st  a_b=1 ;1:if xchg( a_b , 2 )== 3 goto 0 }\n T1{0:xchg(a_b,0)}")),
            "T0{0:st a_b=1; 1:if xchg(a_b,2)==3 goto 0} T1{0:xchg(a_b,0)}");
}

TEST(program, has_threads_of_three_kinds) {
  const program code = parse("T0{0:st x=1} H0{0:st y=2} S0{0:st x=3} T1{0:st z=4}");
  ASSERT_EQ(code.threads.size(), 4u);
  EXPECT_EQ(code.threads[1].kind, thread_kind::host);
  EXPECT_EQ(code.threads[2].kind, thread_kind::server);
  EXPECT_EQ(code.threads[3].name(), "T1");
  EXPECT_EQ(code.locations, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(waves_of(code), 0b1001u);
}

TEST(program, steps_do_what_they_say) {
  const program code = parse("T0{0:st m=3; 1:if ld m==3 goto 3; 2:st m=9; 3:if xchg(m,5)==4 goto 0; 4:xchg(m,6)}");
  state at = first_state(code);
  std::string seen;
  while (!is_final(code, at)) {
    at = stepped(code, at, 0);
    seen += to_string(code, at) + "; ";
  }
  EXPECT_EQ(seen, "T0 at 1, m=3; T0 at 3, m=3; T0 at 4, m=5; T0 at END, m=6; ");
}

TEST(program, malformed_ones_are_refused_with_where_and_how_to_mend_them) {
  EXPECT_EQ(refusal("T0{0:st m0=1}"), "");
  EXPECT_EQ(refusal("  "), "program: it is empty; write a thread, such as T0{0:st m0=1}");
  EXPECT_EQ(refusal("W0{0:st m0=1}"),
            "program: a thread, which begins with T (wave), H (host thread) or S (server), must stand before "
            "\"W0{0:st m0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=1} T2{0:st m0=1}"),
            "program: the thread T2 must be T1: threads of a kind are numbered 0, 1, ... in their order");
  EXPECT_EQ(refusal("T{0:st m0=1}"), "program: the number of the thread T must stand before \"{0:st m0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=1"), "program: T0, step 0: \"}\" is missing at the end");
  EXPECT_EQ(refusal("T0{}"), "program: T0: the number of step 0 must stand before \"}\"");
  EXPECT_EQ(refusal("T0{1:st m0=1}"), "program: T0: step 1 must be 0: steps are numbered 0, 1, ... in their order");
  EXPECT_EQ(refusal("T0{0:load m0}"),
            "program: T0, step 0: a step (\"st\", \"xchg\", \"if ld\" or \"if xchg\") must stand before \"load m0}\"");
  EXPECT_EQ(refusal("T0{0:store m0=1}"),
            "program: T0, step 0: a step (\"st\", \"xchg\", \"if ld\" or \"if xchg\") must stand before "
            "\"store m0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=1; 1:if st m0==1 goto 0}"),
            "program: T0, step 1: \"ld\" or \"xchg\" must stand before \"st m0==1 goto 0}\"");
  EXPECT_EQ(refusal("T0{0:st M0=1}"),
            "program: T0, step 0: a location, a lower-case word such as m0, must stand before \"M0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=256}"), "program: T0, step 0: the value 256 is too large; the largest is 255");
  EXPECT_EQ(refusal("T0{0:st m0=99999999}"), "program: T0, step 0: the number at \"99999999}\" is too large");
  EXPECT_EQ(refusal("T0{0:st m0=1} T1{0:st m0=1; 1:if ld m0==0 goto 2}"),
            "program: T1, step 1: goes to step 2, which is not there; the steps are 0 to 1, and END");
  EXPECT_EQ(refusal("T0{0:if ld m0=0 goto 0}"), "program: T0, step 0: \"==\" must stand before \"=0 goto 0}\"");
  EXPECT_EQ(refusal("T0{0:if ld m0==0 go 0}"), "program: T0, step 0: \"goto\" must stand before \"go 0}\"");
  EXPECT_EQ(refusal("T0{0:st m0=\n1x}"), "program: T0, step 0: \"}\" must stand before \"x}\"");
}

TEST(program, too_much_of_it_is_refused) {
  std::string threads, steps, locations;
  for (uint32_t n = 0; n <= threads_max; ++n) threads += "T" + std::to_string(n) + "{0:st m=1} ";
  for (uint32_t n = 0; n <= steps_max; ++n) steps += (n == 0 ? "" : ";") + std::to_string(n) + ":st m=1";
  for (uint32_t n = 0; n <= locations_max; ++n)
    locations += (n == 0 ? "" : ";") + std::to_string(n) + ":st m" + std::to_string(n) + "=1";
  EXPECT_EQ(refusal(threads), "program: more than 32 threads; leave some out");
  EXPECT_EQ(refusal("T0{" + steps + "}"), "program: T0, step 253: more than 254 steps; make it shorter");
  EXPECT_EQ(refusal("T0{" + locations + "}"), "program: T0, step 64: more than 64 locations; use fewer");
  std::string most = steps.substr(0, steps.rfind(';'));
  EXPECT_EQ(refusal("T0{" + most + "}"), "");
}

}  // namespace
}  // namespace heddle::judge
