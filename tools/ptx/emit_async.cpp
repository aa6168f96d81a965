// What goes on beside the lanes, as C++: cp.async, cp.async.bulk and mbarrier.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "emit.h"

namespace heddle::ptx {

bool functions_copy(const module& of) {
  const auto copies = [](const statement& one) {
    return one.is == statement::kind::instruction && one.what.name == "cp" && !one.what.has("bulk");
  };
  return std::any_of(of.functions.begin(), of.functions.end(), [&](const function& one) {
    return !one.is_entry && std::any_of(one.body.begin(), one.body.end(), copies);
  });
}

std::string emitter::copy(const matched& row) {
  ++visible_;
  // In the frame of the lane's kernel, where all that it makes and waits for come together there: a search has it in its states.
  if (copies_.empty())
    copies_ = about.in_kernel && about.copies_alone ? names_.local("heddle::ptx::async_copies", "copies", "")
                                                    : "lane_copies()";
  const instruction& what = at_->what;
  if (what.has("commit_group")) return copies_ + ".commit();";
  if (what.has("wait_all")) return copies_ + ".commit(); " + copies_ + ".wait(0);";
  if (what.has("mbarrier")) {
    if (what.operands.size() != 1 || !what.has("arrive")) wrong("it is .arrive, and has an address");
    const operand& at = what.operands[0];
    return copies_ + ".arrive_on(at<" + space_of(row, at) + ">(" + address(at) + "), " +
           (what.has("noinc") ? "true" : "false") + ");";
  }
  if (what.has("wait_group")) {
    if (what.operands.size() != 1) wrong("the count of groups is missing");
    return copies_ + ".wait(" + source(what.operands[0], "u32") + ");";
  }
  if (what.operands.size() < 3) wrong("operands are missing");
  const std::string bytes = source(what.operands[2], "u32");
  return copies_ + ".add(at<sp_shared>(" + address(what.operands[0]) + "), at<sp_global>(" + address(what.operands[1]) +
         "), " + bytes + ", " + (what.operands.size() > 3 ? source(what.operands[3], "u32") : bytes) + ");";
}

std::string emitter::bulk_copy(const matched& row) {
  ++visible_;
  const instruction& what = at_->what;
  const auto& all = what.operands;
  if (what.has("commit_group")) return "bulk::commit();";
  if (what.has("wait_group")) {
    if (all.size() != 1) wrong("the count of groups is missing");
    return "bulk::wait(" + source(all[0], "u32") + (what.has("read") ? ", true);" : ", false);");
  }
  if (what.has("prefetch")) return ";";
  const bool loads = what.has("mbarrier::complete_tx::bytes");
  if (loads == what.has("bulk_group")) wrong("what tells of its end is missing");
  if (all.size() < (loads ? 4 : 3)) wrong("operands are missing");
  // The spaces stand in the order of the addresses.
  const std::string& to = row.modifiers[2];
  const std::string& from = row.modifiers[3];
  const auto at = [&](const std::string& space, const operand& of) {
    return (space == "global" ? "at<sp_global>(" : "at<sp_shared>(") + address(of) + ")";
  };
  // From one block of a cluster to another one is not simulated: a proxy fence of that memory would be looked for in the wrong place.
  if ((loads ? from : to) != "global" || (loads ? to : from) == "global")
    wrong("it copies between global memory and that of the block");
  const std::string what_is_copied = at(to, all[0]) + ", " + at(from, all[1]) + ", " + source(all[2], "u32");
  if (!loads) return "bulk::store(" + what_is_copied + ");";
  return "bulk::load(" + what_is_copied + ", at<sp_shared>(" + address(all[3]) + "));";
}

std::string emitter::mbarrier(const matched& row) {
  ++visible_;
  const auto& all = at_->what.operands;
  static constexpr std::string_view kinds[] = {"init",        "inval",     "arrive",   "arrive_drop",  "expect_tx",
                                               "complete_tx", "test_wait", "try_wait", "pending_count"};
  const std::string& kind = row.modifiers.front();
  if (std::find(std::begin(kinds), std::end(kinds), kind) == std::end(kinds)) wrong("what it does stands first");
  const size_t at = !all.empty() && all[0].is == operand::kind::address ? 0 : 1;
  const bool has_result = at == 1;
  const auto value = [&](const char* type) {
    if (at + 1 >= all.size()) wrong("operands are missing");
    return source(all[at + 1], type);
  };
  if (kind == "pending_count" && all.size() == 2)
    return given(destination(all[0], "u32"), "mbarrier::pending_of(" + source(all[1], "b64") + ")");
  if (at >= all.size()) wrong("operands are missing");
  const std::string word = "at<" + space_of(row, all[at]) + ">(" + address(all[at]) + ")";
  if (kind == "init") return "mbarrier::init(" + word + ", " + value("u32") + ");";
  if (kind == "inval") return "mbarrier::inval(" + word + ");";
  const bool waits = kind.ends_with("_wait");
  std::vector<std::string> how = how_of(row.modifiers);
  if (!at_->what.has("relaxed")) how.push_back(waits ? "acquire" : kind.starts_with("arrive") ? "release" : "relaxed");
  std::string call = "mbarrier::change<" + tags_of({}, how) + ">(" + word + ", ";
  if (waits) {
    if (!has_result) wrong("the predicate is missing");
    const std::string phase = at_->what.has("parity") ? value("u32") : "mbarrier::phase_of(" + value("b64") + ")";
    call = "mbarrier::is_over<" + tags_of({}, how) + ">(" + word + ", " + phase + ")";
    return given(destination(all[0], "pred"), call);
  }
  if (kind == "expect_tx")
    call += "0, 0, " + value("u32") + ")";
  else if (kind == "complete_tx")
    call += "0, 0, 0 - " + value("u32") + ")";
  else if (at_->what.has("expect_tx"))
    call += std::string("1, ") + (kind == "arrive_drop" ? "1, " : "0, ") + value("u32") + ")";
  else {
    const std::string count = at + 1 < all.size() ? value("u32") : "1";
    call += count + ", " + (kind == "arrive_drop" ? count : "0") + ", 0)";
  }
  return has_result ? given(destination(all[0], "b64"), call) : call + ";";
}

}  // namespace heddle::ptx
