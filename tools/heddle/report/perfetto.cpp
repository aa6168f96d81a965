#include <heddle/tools/report/drawn.h>
#include <heddle/tools/report/recording.h>
#include <heddle/tools/report/sources.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;
using sim::run_record;

// Perfetto's processes: the actors of the host, those of the device, and what they act upon.
constexpr int host_process = 1;
constexpr int device_process = 2;
constexpr int slot_process = 3;

class writer {
 public:
  writer(std::ostream& out, const run_record& of) : out_(out), of_(of), end_(of.first_step + of.steps.size()) {}

  void write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    name_tracks();
    steps();
    waits_and_rests();
    size_t id = 0;
    for (const store_flow& each : flows_of(of_)) {
      if (each.seen == store_flow::none) continue;
      const std::string name = "visible";
      arrow("s", name, ++id, each.store);
      arrow("f", name, id, each.seen);
    }
    calls(id);
    out_ << "\n]}\n";
  }

 private:
  void event(const json& made) {
    out_ << (first_ ? "" : ",\n") << made.dump(-1, ' ', true, json::error_handler_t::replace);
    first_ = false;
  }

  int process_of(const run_record::actor& who) const {
    return of_.waves[who.wave].host ? host_process : device_process;
  }
  static uint64_t track_of(uint32_t actor) { return uint64_t{actor} + 1; }

  void name_process(int process, const char* name) {
    event({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
    event({{"ph", "M"}, {"pid", process}, {"name", "process_sort_index"}, {"args", {{"sort_index", process}}}});
  }
  void name_track(int process, uint64_t track, const std::string& name) {
    event({{"ph", "M"}, {"pid", process}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", name}}}});
    event({{"ph", "M"},
           {"pid", process},
           {"tid", track},
           {"name", "thread_sort_index"},
           {"args", {{"sort_index", track}}}});
  }

  void name_tracks() {
    name_process(host_process, "host");
    name_process(device_process, "device");
    for (uint32_t n = 0; n < of_.actors.size(); ++n)
      name_track(process_of(of_.actors[n]), track_of(n), of_.actors[n].name);
  }

  void slice(uint32_t actor, const char* sort, const std::string& name, uint64_t from, uint64_t steps, json more) {
    event({{"ph", "X"},
           {"pid", process_of(of_.actors[actor])},
           {"tid", track_of(actor)},
           {"ts", from},
           {"dur", steps},
           {"cat", sort},
           {"name", name},
           {"args", std::move(more)}});
  }

  void steps() {
    for (size_t n = 0; n < of_.steps.size(); ++n) {
      const run_record::step& one = of_.steps[n];
      json more = {{"step", of_.first_step + n}};
      if (one.place != run_record::none)
        more["location"] = of_.texts[one.place] + " (" + std::to_string(one.size_bytes) + " bytes)";
      if (one.part != sim::run_record::none) more["part"] = of_.texts[one.part];
      if (one.has_value) more["value"] = "0x" + to_hexadecimal(one.value);
      if (one.calls != run_record::none && !of_.call_chains[one.calls].empty())
        more["where"] = place_in_source(of_.call_chains[one.calls].front());
      if (one.is_old) more["old"] = true;
      if (one.lost) more["lost"] = true;
      slice(one.actor, "step", of_.texts[one.operation], of_.first_step + n, 1, std::move(more));
    }
  }

  /// What an actor does between its steps: nothing is left without a reason.
  void waits_and_rests() {
    std::vector<std::vector<std::pair<uint64_t, uint64_t>>> busy(of_.actors.size());
    for (size_t n = 0; n < of_.steps.size(); ++n)
      busy[of_.steps[n].actor].emplace_back(of_.first_step + n, of_.first_step + n + 1);
    for (const run_record::wait& each : of_.waits) {
      const uint64_t from = std::max(each.from + 1, of_.first_step);
      const uint64_t to = each.to == run_record::never ? end_ : std::min(each.to + 1, end_);
      if (from >= to) continue;
      busy[each.actor].emplace_back(from, to);
      slice(each.actor, "wait", "waits: " + of_.texts[each.text], from, to - from, json::object());
    }
    for (uint32_t n = 0; n < of_.actors.size(); ++n) {
      std::sort(busy[n].begin(), busy[n].end());
      const run_record::actor& who = of_.actors[n];
      uint64_t at = std::max(who.begun + 1, of_.first_step);
      const uint64_t over = who.ended == run_record::never ? end_ : std::min(who.ended + 1, end_);
      const auto rest_until = [&](uint64_t until) {
        if (until > at) slice(n, "ready", "can run", at, until - at, json::object());
      };
      for (const auto& [from, to] : busy[n]) {
        rest_until(from);
        at = std::max(at, to);
      }
      rest_until(over);
    }
  }

  /// One end of an arrow, or a point on its way, at the middle of a step.
  void arrow(const char* phase, const std::string& name, size_t id, size_t step) {
    const uint32_t actor = of_.steps[step].actor;
    json made = {{"ph", phase},
                 {"id", id},
                 {"pid", process_of(of_.actors[actor])},
                 {"tid", track_of(actor)},
                 {"ts", of_.first_step + step},
                 {"cat", name},
                 {"name", name}};
    if (*phase == 'f') made["bp"] = "e";
    event(made);
  }

  /// A call is what happens at a slot from the client's lock to its unlock.
  void calls(size_t& id) {
    const slot_names names(of_);
    size_t left_out = 0;
    std::vector<std::pair<uint64_t, int>> turns;  // when one more or one less is under way
    uint64_t track = 0;
    for (const state_strip& strip : strips_of(of_, names, left_out)) {
      if (strip.kind == state_strip::sort::word) continue;
      if (track == 0) name_process(slot_process, "slots");
      name_track(slot_process, ++track, strip.name);
      std::vector<state_strip::change> call;
      uint64_t before = 0;
      for (const state_strip::change& one : strip.changes) {
        const bool was = (before & state_strip::client_locked) != 0;
        const bool is = (one.state & state_strip::client_locked) != 0;
        before = one.state;
        if (is || was) call.push_back(one);
        if (was && !is) end_call(strip, track, call, one.step + 1, id, turns);
      }
      if (!call.empty()) end_call(strip, track, call, end_, id, turns);
    }
    std::sort(turns.begin(), turns.end());
    int under_way = 0;
    for (const auto& [when, more] : turns)
      event({{"ph", "C"},
             {"pid", slot_process},
             {"ts", when},
             {"name", "calls under way"},
             {"args", {{"calls", under_way += more}}}});
  }

  void end_call(const state_strip& strip, uint64_t track, std::vector<state_strip::change>& call, uint64_t end,
                size_t& id, std::vector<std::pair<uint64_t, int>>& turns) {
    const uint64_t from = std::max(call.front().step, of_.first_step);
    const std::string name = "call " + std::to_string(++calls_) + " of " + of_.actors[call.front().actor].name;
    event({{"ph", "X"},
           {"pid", slot_process},
           {"tid", track},
           {"ts", from},
           {"dur", end > from ? end - from : 1},
           {"cat", "call"},
           {"name", name},
           {"args", {{"slot", strip.name}}}});
    turns.emplace_back(from, 1);
    if (end < end_) turns.emplace_back(end, -1);
    // Stores that arrived late change the slot in another actor's step: an arrow needs a step of its own actor.
    std::vector<size_t> points;
    for (const state_strip::change& one : call)
      if (one.step >= of_.first_step && one.step < end_ && of_.steps[one.step - of_.first_step].actor == one.actor)
        points.push_back(one.step - of_.first_step);
    if (points.size() > 1) {
      ++id;
      for (size_t n = 0; n < points.size(); ++n)
        arrow(n == 0 ? "s" : n + 1 == points.size() ? "f" : "t", "call", id, points[n]);
    }
    call.clear();
  }

  static std::string to_hexadecimal(uint64_t value) {
    std::string digits;
    do {
      digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
      value >>= 4;
    } while (value != 0);
    return digits;
  }

  std::ostream& out_;
  const run_record& of_;
  uint64_t end_;  ///< the step behind the last
  bool first_ = true;
  uint64_t calls_ = 0;
};

}  // namespace

void write_perfetto(std::ostream& out, const run_record& of) { writer(out, of).write(); }

}  // namespace heddle::tools
