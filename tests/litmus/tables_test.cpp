#include <heddle/tools/litmus/csv.h>
#include <heddle/tools/litmus/test.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

namespace heddle::litmus {
namespace {

std::vector<test> shipped(const std::string& file) {
  std::ifstream stream(LITMUS_DATA "/" + file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_FALSE(text.empty()) << file;
  return tests_of(csv_table(file, text));
}

std::map<expectation, size_t> counts(const std::vector<test>& tests) {
  std::map<expectation, size_t> made;
  for (const test& each : tests) ++made[each.expected];
  return made;
}

const test& find(const std::vector<test>& tests, const std::string& full_name) {
  const auto found =
      std::find_if(tests.begin(), tests.end(), [&](const test& each) { return each.full_name() == full_name; });
  if (found == tests.end()) throw std::out_of_range(full_name);
  return *found;
}

bool has_setting(const test& of, const std::string& assignment) {
  return std::find(of.settings.begin(), of.settings.end(), assignment) != of.settings.end();
}

std::vector<test> of_text(const std::string& text) { return tests_of(csv_table("t.csv", text)); }

std::string refusal(const std::string& text) {
  try {
    of_text(text);
    return "accepted";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

constexpr const char* contract_titles = "name,threads,program,weak_outcome,ptx6_contract,x86_host_hw,needs\n";
std::string contract_row(const std::string& verdicts) {
  return contract_titles + ("a,gpu0.cta0,\"st.weak x, 1\",x=1," + verdicts + "\n");
}

// The figures are those of the tables' own description.
TEST(tables, the_contract_of_ptx) {
  const std::vector<test> tests = shipped("ptx.csv");
  EXPECT_EQ(tests.size(), 564u);
  // Two rows are allowed by the contract, but not where host code runs on x86.
  EXPECT_EQ(counts(tests), (std::map<expectation, size_t>{{expectation::forbidden, 181 + 2},
                                                          {expectation::seen, 265},
                                                          {expectation::aim, 62},
                                                          {expectation::load_buffering, 44},
                                                          {expectation::weak_host, 12 - 2}}));
  for (const test& each : tests) EXPECT_TRUE(has_setting(each, "fidelity=scoped"));
}

TEST(tables, bugs_of_a_protocol_are_to_be_caught_whatever_they_need) {
  EXPECT_EQ(counts(shipped("rpc.csv")),
            (std::map<expectation, size_t>{{expectation::forbidden, 18}, {expectation::caught, 27}}));
}

TEST(tables, each_configuration_of_the_link_is_a_test) {
  const std::vector<test> tests = shipped("pcie.csv");
  EXPECT_EQ(tests.size(), 41u * 7 + 20);
  const auto counted = counts(tests);
  EXPECT_EQ(counted.at(expectation::forbidden), 30u + 18 + 23 + 23 + 16 + 23 + 19 + 10);
  std::set<std::string> delayed;
  for (const test& each : tests)
    if (each.expected == expectation::load_buffering) delayed.insert(each.name);
  EXPECT_EQ(delayed, (std::set<std::string>{"LB.plain", "S-hg.plain", "WRC.g-g-h plain"}));
  EXPECT_EQ(counted.at(expectation::load_buffering), 3u * 7);
}

// Where a table has no contract, its programs are the host's, and the host is an x86 with store buffers in order.
TEST(tables, the_host_alone) {
  const std::vector<test> tests = shipped("host.csv");
  EXPECT_EQ(counts(tests), (std::map<expectation, size_t>{{expectation::forbidden, 23}, {expectation::seen, 9}}));
  for (const test& each : tests) {
    EXPECT_TRUE(has_setting(each, "fidelity=link"));
    for (const place& at : each.code.places) EXPECT_TRUE(at.host) << each.name;
  }
  EXPECT_EQ(refusal("name,threads,program,weak_outcome,x86_host_hw\na,host,\"st x, 1\",x=1,\n"),
            "t.csv:2: x86_host_hw: \"\" is no verdict; write A or F");
}

TEST(tables, a_configuration_is_made_of_settings) {
  const std::vector<test> tests = shipped("pcie.csv");
  const test& plain = find(tests, "pcie/MP-gh.plain [inorder+ro]");
  for (const char* each : {"fidelity=link", "link.pool=off", "link.ro=on", "link.drain=off", "link.rocpl=off",
                           "link.wc=off", "link.rmw=all", "link.sameaddr=on"})
    EXPECT_TRUE(has_setting(plain, each)) << each;
  const test& loose = find(tests, "pcie/MP-gh.plain [pool+drain+nosameaddr]");
  for (const char* each : {"link.pool=on", "link.drain=on", "link.sameaddr=off"})
    EXPECT_TRUE(has_setting(loose, each)) << each;
  EXPECT_TRUE(has_setting(find(tests, "pcie/XCHG-unique.emulated [pool+emul]"), "link.rmw=split"));
  EXPECT_TRUE(has_setting(find(tests, "pcie/MP-hg.BAR WC + sfence [pool+wc]"), "link.wc=on"));
  const test& placed = find(tests, "pcie/SB.host x, dev y, no fence [pool]");
  EXPECT_EQ(placed.code.on_device, (std::vector<bool>{false, true}));
}

TEST(tables, the_verdict_where_the_host_is_x86_wins) {
  EXPECT_EQ(of_text(contract_row("A,,late"))[0].expected, expectation::seen);
  EXPECT_EQ(of_text(contract_row("A,A,late"))[0].expected, expectation::seen);
  EXPECT_EQ(of_text(contract_row("A,F,weak-host"))[0].expected, expectation::forbidden);
  EXPECT_EQ(of_text(contract_row("F,,"))[0].expected, expectation::forbidden);
}

TEST(tables, what_is_no_table_of_tests_is_refused) {
  EXPECT_EQ(
      refusal("a,b\n1,2\n"),
      "t.csv:1: no table of litmus tests; it needs the column ptx6_contract, x86_host_hw or special_config, or one "
      "of a progress model such as WEAK_FAIR");
  EXPECT_EQ(refusal("name,ptx6_contract\na,F\n"), "t.csv:1: there is no column \"threads\"");
  EXPECT_EQ(refusal(contract_row("B,,")), "t.csv:2: ptx6_contract: \"B\" is no verdict; write A or F");
  EXPECT_EQ(
      refusal(contract_row("A,,luck")),
      "t.csv:2: needs: \"luck\" must be one of late, coherence, load-buffering, weak-host where the verdict is A");
  EXPECT_EQ(refusal(contract_row("F,,") + "a,host,\"st.weak x, 1\",x=1,F,,\n"),
            "t.csv:3: name: \"a\" is an earlier row's too");
  EXPECT_EQ(refusal(contract_titles + std::string("a,gpu0.cta0,\"jump x\",x=1,F,,\n")),
            "t.csv:2: program: P0: \"jump\" is no instruction; write one of ld, st, atom, fence");
  EXPECT_EQ(refusal(contract_titles + std::string("a,gpu1.cta0,\"st.weak x, 1\",x=1,F,,\n")),
            "t.csv:2: threads: the simulated machine has one device; write gpu0");
  // A field may hold line feeds, and what is said of it is one line all the same.
  EXPECT_EQ(refusal(contract_titles + std::string("a,gpu0.cta0,\"st.weak x, 1\n2\",x=1,F,,\n")),
            "t.csv:2: program: P0: \"1 2\" is no number; write one from 0 to 4294967295");
  EXPECT_EQ(refusal("name,threads,placement,program,weak_outcome,pool+fast,special_config,special_verdict\n"
                    "a,host,,\"st x, 1\",x=1,F,,\n"),
            "t.csv:2: the configuration \"pool+fast\" has the unknown word \"fast\"; the words are pool, inorder, ro, "
            "rocpl, drain, wc, emul, nosameaddr");
}

std::string refusal_of_csv(std::string_view text) {
  try {
    const csv_table table("t.csv", text);
    return "accepted";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(csv, fields_are_found_by_title) {
  const csv_table table("t.csv", "name,value\na,1\nb,\n");
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.at(table.rows()[0], "value"), "1");
  EXPECT_EQ(table.at(table.rows()[1], "name"), "b");
  EXPECT_EQ(table.at(table.rows()[1], "value"), "");
  EXPECT_TRUE(table.has("value"));
  EXPECT_FALSE(table.has("valu"));
  EXPECT_THROW(table.at(table.rows()[0], "valu"), std::invalid_argument);
}

TEST(csv, a_table_is_named_after_its_file) {
  EXPECT_EQ(csv_table("a/b.c/ptx.csv", "x\n").name(), "ptx");
  EXPECT_EQ(csv_table("ptx.csv", "x\n").name(), "ptx");
  EXPECT_EQ(csv_table("a/ptx", "x\n").name(), "ptx");
}

TEST(csv, quoted_fields_hold_commas_quotes_and_line_feeds) {
  const csv_table table("t.csv", "name,value\n\"a,b\",\"say \"\"x\"\"\nthen y\"\nc,d\n");
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].fields, (std::vector<std::string>{"a,b", "say \"x\"\nthen y"}));
  EXPECT_EQ(table.rows()[0].line, 2u);
  EXPECT_EQ(table.rows()[1].line, 4u);
}

TEST(csv, files_of_other_systems_are_read) {
  const csv_table table("t.csv", "\xef\xbb\xbfname,value\r\na,1\r\n\r\nb,\"2\"");
  EXPECT_EQ(table.titles(), (std::vector<std::string>{"name", "value"}));
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].fields[1], "1");
  EXPECT_EQ(table.rows()[1].fields[1], "2");
  EXPECT_EQ(table.rows()[1].line, 4u);
}

TEST(csv, what_is_no_table_is_refused_by_line) {
  EXPECT_EQ(refusal_of_csv(""), "t.csv: empty; the first line must hold the titles");
  EXPECT_EQ(refusal_of_csv("a,b,a\n"), "t.csv:1: the title \"a\" comes twice");
  EXPECT_EQ(refusal_of_csv("a,b\n1,2\n1\n"),
            "t.csv:3: 1 fields, but the first line has 2 titles; quote a field with a comma in it");
  EXPECT_EQ(refusal_of_csv("a,b\n1,2,3\n"),
            "t.csv:2: 3 fields, but the first line has 2 titles; quote a field with a comma in it");
  EXPECT_EQ(refusal_of_csv("a,b\n1,\"2\n3\n"), "t.csv:2: a quote is not closed; end the field with \"");
  EXPECT_EQ(refusal_of_csv("a,b\n\"1\"2,3\n"),
            "t.csv:2: text behind a closing quote; double a quote that belongs to the field");
  EXPECT_EQ(refusal_of_csv("\"a\nb\",\"a\nb\"\n"), "t.csv:1: the title \"a b\" comes twice");
}

}  // namespace
}  // namespace heddle::litmus
