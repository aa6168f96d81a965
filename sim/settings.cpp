#include <heddle/driver/middleware.h>
#include <heddle/driver/settings.h>
#include <heddle/sim/base/sanitizers.h>
#include <heddle/sim/settings.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

extern "C" {
[[gnu::weak]] extern const char heddle_is_program;
[[gnu::weak]] extern const char heddle_waves_have_one_counter;
}

namespace heddle::sim {
namespace {

/// Whether this is a program for AMD's GPUs, whose waves have one program counter. A scenario is for all kinds.
bool has_one_counter() { return &heddle_is_program != nullptr && &heddle_waves_have_one_counter != nullptr; }

/// A setting that is read only where another one has one of some values; the first is the one to advise.
struct condition {
  std::string_view key;
  std::string_view other;
  std::vector<std::string_view> values;
};

// A key may have several; the first that is not met is named.
const std::vector<condition>& conditions() {
  static const std::vector<condition> all = {
      {"arms", "convergence", {"lockstep"}},
      {"driver.fault", "driver.detail", {"queue", "message"}},
      {"driver.middleware", "driver.detail", {"queue", "message"}},
      {"partings", "convergence", {"independent"}},
      {"partings", "step", {"wave"}},
      {"evict.quantum", "evict", {"wave", "queue"}},
      {"evict.early", "evict", {"wave", "queue"}},
      {"evict.lull", "evict", {"wave", "queue"}},
      {"races", "fidelity", {"scoped"}},
      {"races.excuse", "fidelity", {"scoped"}},
      {"races.excuse", "races", {"end", "weigh", "relaxed"}},
      {"races.known", "fidelity", {"scoped"}},
      {"races.known", "races", {"end", "weigh", "relaxed"}},
      {"late", "fidelity", {"scoped", "link"}},
      {"history", "fidelity", {"scoped"}},
      {"host", "fidelity", {"scoped"}},
      {"doorbells.steps", "doorbells", {"delayed", "coalesced"}},
      {"link.pool", "fidelity", {"link", "scoped"}},
      {"link.ro", "fidelity", {"link", "scoped"}},
      {"link.hostro", "fidelity", {"link"}},
      {"link.rocpl", "fidelity", {"link"}},
      {"link.drain", "fidelity", {"link", "scoped"}},
      {"link.wc", "fidelity", {"link"}},
      {"link.sameaddr", "fidelity", {"link"}},
      {"link.rmw", "fidelity", {"link"}},
      {"link.age", "fidelity", {"link"}},
      {"link.age", "link.latency", {"off"}},
      {"link.lull", "fidelity", {"link"}},
      {"link.lull", "link.latency", {"off"}},
      {"buffer", "fidelity", {"link", "scoped"}},
  };
  return all;
}

/// The default that the list has for the key: a scenario may have one of its own.
std::string default_of(const parameters& values, std::string_view key) {
  const auto& known = values.definitions();
  return std::find_if(known.begin(), known.end(), [&](const parameter& each) { return each.key == key; })
      ->default_value();
}

// Read by the assumptions of a run (run/assumptions.h).
parameter assume_parameter() {
  return parameter::words("assume",
                          "what is assumed of the program that is not so, FILE:LINE=CHANGE, with commas between "
                          "several; also given by --assume");
}

std::vector<parameter> parameters_of_the_driver() {
  std::vector<parameter> all;
  all.push_back(
      parameter::one_of("driver.detail", "call", {"call", "queue", "message"},
                        "what of the driver is stepped: nothing, the commands of its queues, or its messages too"));
  all.push_back(parameter::one_of(
      "driver.fault", "none",
      {"none", "late-flush", "one-flag", "own-flush", "early-end", "early-copy", "kept-translation", "lost-signal"},
      "what the driver whose commands are stepped has wrong; each is explained in docs/driver.md"));
  all.push_back(parameter::number("driver.devices", 1, 1, settings::most_devices, "", "how many GPUs the machine has"));
  all.push_back(parameter::number("driver.unified", 1, 1, settings::most_devices, "",
                                  "how many GPUs are device 0 together, so that programs for one run on several"));
  all.push_back(driver::middleware_parameter());
  all.push_back(driver::split_parameter());
  all.push_back(parameter::one_of("driver.reach", "usual", {"usual", "copies", "all"},
                                  "how the host reaches what cudaMalloc gives: by copies alone in programs with a "
                                  "main(), by copies alone everywhere, or by its address too, as devices "
                                  "then reach each other's"));
  all.push_back(parameter::one_of("host.functions", "any", {"any", "one", "each"},
                                  "which threads run the host functions of streams: one of the driver for all, one for "
                                  "each, or a choice of the run between the two"));
  all.push_back(parameter::number("driver.memory_kib", 0, 0, 1 << 26, "KiB",
                                  "memory of each GPU, in pages of 4 KiB; 0: as much as there are addresses"));
  for (parameter& each : driver::driver_parameters())
    if (each.key == "driver.flush") all.push_back(std::move(each));
  return all;
}

/// How the lanes of a wave go on.
std::vector<parameter> lane_parameters() {
  return {
      parameter::one_of("convergence", has_one_counter() ? "lockstep" : "independent", {"independent", "lockstep"},
                        "whether the lanes of a wave are scheduled each on its own, or have one program counter and "
                        "the memory of such a machine"),
      parameter::one_of("arms", "then-first", {"then-first", "else-first", "any"},
                        "which arm runs first where lanes part: as the source has them, or any (convergence lockstep)"),
      parameter::one_of(
          "step", "wave", {"wave", "lane"},
          "what one step is where lanes of a wave stand together: an operation of all of them, or of one"),
      parameter::one_of("barriers", "aligned", {"aligned", "any"},
                        "whether all lanes of a wave have to come to __syncthreads() or a bar of PTX at one line"),
      parameter::number("partings", 2, 0, 1000, "",
                        "how often in a run lanes that stand together are parted though the program does not part them "
                        "(convergence independent, step wave)"),
  };
}

}  // namespace

std::vector<parameter> machine_parameters() {
  std::vector<parameter> all = {
      parameter::one_of("fidelity", "scoped", {"interleaving", "link", "scoped"},
                        "how memory behaves: scoped and weak, late across the link alone, or every access at once"),
      parameter::one_of("progress", "fair", progress_model_names(),
                        "which waves are guaranteed a turn; each model is explained in docs/simulator.md"),
      parameter::one_of("starts", "in-order", {"in-order", "any"},
                        "in which order the blocks of a kernel get their places on the device"),
      parameter::number("resident", 65536, 1, 1 << 20, "waves", "how many waves each device holds at a time"),
      parameter::one_of(
          "places", "lifted", {"lifted", "kept"},
          "a hang of the waves that have places is judged on a device that has enough of them, or on this one"),
      parameter::one_of("evict", "off", {"off", "wave", "queue"},
                        "what is taken off the device while others wait for its places: nothing, a wave, or all waves "
                        "of a kernel"),
      parameter::number("evict.quantum", 64, 0, 1000000, "steps",
                        "turn on the device of what may be evicted, where others of its priority wait; 0: no turns"),
      parameter::number("evict.early", 0, 0, 1000, "",
                        "how often in a run something is evicted, by a choice, before its turn is over"),
      parameter::one_of("evict.lull", "on", {"on", "off"},
                        "when nothing is evicted early, that may last: random answers find more so; off: each turn "
                        "asks anew"),
      parameter::one_of("points", "auto", {"auto", "all", "atomics"},
                        "where another lane may come in between: at every access to shared memory, or not at plain "
                        "ones; auto: not at those whose races end the run"),
      parameter::number("wakes", 1, 0, 1000, "", "how often a wait may end although nothing changed"),
      parameter::one_of("timeouts", "last", {"last", "any"},
                        "when long time-outs end a wait: when nothing else can go on, or whenever the schedule says"),
      parameter::number("budget", 1000000, 100, int64_t{1} << 40, "steps",
                        "steps before only guaranteed waves run; as many again and the run is inconclusive; more for "
                        "more than 256 lanes"),
      parameter::number(
          "starvation", 0, 0, 1000000, "",
          "how often a lane that waits may be passed over before that is a verdict; 0: as often as it comes"),
      parameter::one_of("behaviours", "off", {"off", "count"},
                        "whether fuzz counts in how many different ways the program has run; changes no run"),
      parameter::number("stack_kib", 16, 8, 1024, "KiB", "stack of a lane"),
      parameter::number("host_stack_kib", 256, 64, 8192, "KiB", "stack of a host thread"),
      parameter::number("host_frames", 0, 0, 8192 * 1024, "bytes",
                        "so much of each host thread's stack, from its outer end, is watched from the beginning as if "
                        "other threads knew of it"),
      parameter::one_of("races", "end", {"end", "weigh", "count", "relaxed"},
                        "what a race does (fidelity scoped): end the run, do so when nothing else has, or count; "
                        "relaxed: end it, but plain accesses of words are relaxed atomic ones"),
      parameter::some_of("races.excuse", "none",
                         {"none", "same-value", "plain-flag", "after-read", "acquire", "acquire-store"},
                         "kinds of races that are left alone (docs/memory.md), several with + between them"),
      parameter::words("races.known", "files, with commas, of places and variables whose races are left alone"),
      parameter::one_of("driver", "free", {"free", "idle", "context"},
                        "what calls into the driver wait for: nothing, an idle device, or one lock, which synchronize "
                        "keeps"),
      parameter::one_of("launches", "async", {"async", "blocking"},
                        "whether a launch returns at once, or when the kernel has ended"),
      parameter::one_of("fill", "0xa5", {"0x00", "0xa5", "0xff"},
                        "each byte of memory that CUDA and HIP sources have allocated and not written"),
      parameter::number("late", 4, 0, 1000, "",
                        "how many loads in a row of one lane may see older values (fidelity scoped and link)"),
      parameter::number(
          "history", 10, 2, 60, "stores",
          "how many stores of one location are kept for loads that may see older values (fidelity scoped)"),
      parameter::number(
          "spurious", 1, 0, 1000, "",
          "how many weak compare-exchanges in a row of one lane may fail although they find what they expect"),
      parameter::one_of("volatile", "source", {"source", "plain", "relaxed"},
                        "what accesses to volatile variables are: plain, relaxed and of system scope, or as the source "
                        "has it: relaxed in .cu and .hip, else plain"),
      parameter::one_of(
          "host", "x86", {"x86", "weak"},
          "what the host is: an x86, or a processor that keeps no order that the program does not ask for"),
  };
  std::vector<parameter> of_lanes = lane_parameters();
  all.insert(all.begin() + 1, std::make_move_iterator(of_lanes.begin()), std::make_move_iterator(of_lanes.end()));
  for (parameter& each : parameters_of_the_driver()) all.push_back(std::move(each));
  for (parameter& each : doorbell_parameters()) all.push_back(std::move(each));
  for (parameter& each : link_parameters()) all.push_back(std::move(each));
  for (parameter& each : time_parameters()) all.push_back(std::move(each));
  all.push_back(assume_parameter());
  return all;
}

const char* name_in_settings(race_weight weight) {
  switch (weight) {
    case race_weight::same_value:
      return "same-value";
    case race_weight::plain_flag:
      return "plain-flag";
    case race_weight::after_read:
      return "after-read";
    case race_weight::acquire:
      return "acquire";
    case race_weight::acquire_store:
      return "acquire-store";
    case race_weight::scope:
    case race_weight::proxy:
    case race_weight::release:
    case race_weight::nothing:
      break;
  }
  return "";
}

static excused_races excused_by(const parameters& values) {
  excused_races made;
  for (uint32_t n = 0; n < race_weights; ++n)
    if (const std::string_view name = name_in_settings(race_weight{static_cast<uint8_t>(n)});
        !name.empty() && values.includes("races.excuse", name))
      made.weights |= uint32_t{1} << n;
  if (values.text("races.known").empty()) return made;
  std::vector<excuse> listed;
  if (const auto wrong = read_excuses(values.text("races.known"), listed)) throw std::invalid_argument(*wrong);
  made.listed = std::make_shared<const std::vector<excuse>>(std::move(listed));
  return made;
}

static divergence divergence_in(const parameters& values) {
  const std::string& order = values.text("arms");
  return {.arms = order == "then-first"   ? arms::then_first
                  : order == "else-first" ? arms::else_first
                                          : arms::any,
          .barriers_aligned = values.text("barriers") == "aligned"};
}

namespace {

void read_stacks(settings& read, const parameters& values) {
  read.stack_bytes = static_cast<size_t>(values.number("stack_kib")) * 1024 + sanitizer_stack_bytes;
  read.host_stack_bytes = static_cast<size_t>(values.number("host_stack_kib")) * 1024 + sanitizer_stack_bytes;
  read.host.shared_frame_bytes = static_cast<size_t>(values.number("host_frames"));
}

}  // namespace

settings settings::from(const parameters& values) {
  settings read;
  const std::string& name = values.text("fidelity");
  read.fidelity = name == "scoped" ? fidelity::scoped : name == "link" ? fidelity::link : fidelity::interleaving;
  const std::string& races = values.text("races");
  read.races = races == "weigh"     ? race_effect::weigh
               : races == "count"   ? race_effect::count
               : races == "relaxed" ? race_effect::relaxed
                                    : race_effect::end;
  read.excused = excused_by(values);
  const std::string& driver = values.text("driver");
  read.driver = driver == "idle"      ? driver_calls::idle
                : driver == "context" ? driver_calls::context
                                      : driver_calls::free;
  read.launches_block = values.text("launches") == "blocking";
  const std::string& reach = values.text("driver.reach");
  read.reach = reach == "all" ? host_reach::all : reach == "copies" ? host_reach::copies : host_reach::usual;
  const std::string& detail = values.text("driver.detail");
  read.detail = detail == "queue"     ? driver_detail::queue
                : detail == "message" ? driver_detail::message
                                      : driver_detail::call;
  const std::string& functions = values.text("host.functions");
  read.host.functions = functions == "one"    ? host_functions::one
                        : functions == "each" ? host_functions::each
                                              : host_functions::any;
  const std::string& fault = values.text("driver.fault");
  read.stepped.fault = fault == "late-flush"         ? driver::driver_fault::late_flush
                       : fault == "one-flag"         ? driver::driver_fault::one_flag
                       : fault == "own-flush"        ? driver::driver_fault::own_flush
                       : fault == "early-end"        ? driver::driver_fault::early_end
                       : fault == "early-copy"       ? driver::driver_fault::early_copy
                       : fault == "kept-translation" ? driver::driver_fault::kept_translation
                                                     : driver::driver_fault::none;
  read.stepped.loses_signals = fault == "lost-signal";
  read.stepped.middleware = driver::find_middleware_maker(values.text("driver.middleware"));
  read.split = driver::find_split_rule(values.text("driver.split"));
  const std::string& fill = values.text("fill");
  read.fill = fill == "0x00" ? 0 : fill == "0xff" ? 0xff : 0xa5;
  read.late = values.count("late");
  read.history = values.count("history");
  read.spurious = values.count("spurious");
  read.link = link_settings::from(values);
  read.doorbells = doorbell_settings::from(values);
  read.time = time_settings::from(values);
  read.convergence = values.text("convergence") == "lockstep" ? convergence::lockstep : convergence::independent;
  read.diverging = divergence_in(values);
  read.step = values.text("step") == "wave" ? wave_step::wave : wave_step::lane;
  read.partings = values.count("partings");
  read.progress = parse_progress_model(values.text("progress"));
  read.resident = values.count("resident");
  const std::string& evicted = values.text("evict");
  read.evict = evicted == "wave" ? eviction::wave : evicted == "queue" ? eviction::queue : eviction::off;
  read.quantum = values.count("evict.quantum");
  read.evictions_early = {.most = values.count("evict.early"), .lulls = values.text("evict.lull") == "on"};
  read.lifts_places = values.text("places") == "lifted";
  read.unified = values.count("driver.unified");
  read.devices = std::max(values.count("driver.devices"), read.unified);
  read.device_bytes = static_cast<uint64_t>(values.number("driver.memory_kib")) * 1024;
  read.flushes = values.text("driver.flush") == "on";
  const std::string& volatiles = values.text("volatile");
  read.volatiles = volatiles == "plain"     ? volatile_accesses::plain
                   : volatiles == "relaxed" ? volatile_accesses::relaxed
                                            : volatile_accesses::source;
  read.host.is_weak = values.text("host") == "weak";
  read.starts_in_order = values.text("starts") == "in-order";
  read.budget = static_cast<uint64_t>(values.number("budget"));
  read.wakes = values.count("wakes");
  read.early_timeouts = values.text("timeouts") == "any";
  read.watch.starvation = values.count("starvation");
  read.watch.behaviour = values.text("behaviours") == "count";
  // Where each race ends its run, no lane can see the order of accesses that do not race.
  const bool checked = read.fidelity == fidelity::scoped && read.races_end();
  const std::string& points = values.text("points");
  read.points = points == "atomics"           ? plain_points::none
                : points == "all" || !checked ? plain_points::all
                                              : plain_points::unchecked;
  read_stacks(read, values);
  return read;
}

std::optional<std::string> without_effect(const parameters& values, std::string_view key) {
  if (!values.has(key) || values.value_text(key) == default_of(values, key)) return std::nullopt;
  for (const condition& each : conditions()) {
    if (each.key != key || !values.has(each.other)) continue;
    const std::string other(each.other);
    const std::string& is = values.text(other);
    if (std::find(each.values.begin(), each.values.end(), is) != each.values.end()) continue;
    std::string advice;
    for (const std::string_view value : each.values)
      advice += (advice.empty() ? "use --set " : " or --set ") + other + "=" + std::string(value);
    return std::string(key) + "=" + values.value_text(key) + " has no effect with " + other + "=" + is + "; " + advice;
  }
  return std::nullopt;
}

std::optional<std::string> without_effect(const parameters& values) {
  for (const parameter& each : values.definitions())
    if (auto wrong = without_effect(values, each.key)) return wrong;
  std::vector<excuse> listed;
  return values.has("races.known") ? read_excuses(values.text("races.known"), listed) : std::nullopt;
}

}  // namespace heddle::sim
