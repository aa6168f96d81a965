#include <heddle/scheduler/whole_file.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/json_number.h>
#include <heddle/tools/hardware/dump.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view format_name = "heddle dump 1";
/// More is not read: a hostile text must not make the reader allocate without bound.
constexpr uint64_t file_bytes_max = uint64_t{1} << 28;

json to_json(const dump_port& each) {
  return {{"set", each.set},
          {"port", each.port},
          {"owner", each.owner},
          {"client_outbox", each.client_outbox},
          {"server_outbox", each.server_outbox},
          {"client_lock", each.client_lock},
          {"server_lock", each.server_lock},
          {"mask", each.mask},
          {"opcode", each.opcode},
          {"step", each.step}};
}

json to_json(const dump_actor& each) {
  return {{"name", each.name},       {"group", each.group},   {"member", each.member},
          {"doing", each.doing},     {"waits", each.waits},   {"operations", each.operations},
          {"changes", each.changes}, {"events", each.events}, {"lost", each.lost}};
}

json to_json(const dump_event& each) {
  return {{"clock_ns", each.clock_ns},   {"actor", each.actor},     {"operation", each.operation},
          {"order", each.order},         {"scope", each.scope},     {"allocation", each.place.allocation},
          {"offset", each.place.offset}, {"part", each.place.part}, {"before", each.before},
          {"after", each.after},         {"changes", each.changes}, {"repeats", each.repeats}};
}

/// A list with one element a line.
template <typename Element>
std::string lines_of(const std::vector<Element>& all) {
  std::string text = "[";
  for (size_t n = 0; n < all.size(); ++n) text += (n == 0 ? "\n    " : ",\n    ") + json_line(to_json(all[n]));
  return text + (all.empty() ? "]" : "\n  ]");
}

dump_port port_from(const json& from) {
  return {.set = from.at("set").get<std::string>(),
          .port = whole_number<uint32_t>(from, "port"),
          .owner = from.at("owner").get<std::string>(),
          .client_outbox = whole_number<uint32_t>(from, "client_outbox"),
          .server_outbox = whole_number<uint32_t>(from, "server_outbox"),
          .client_lock = from.at("client_lock").get<bool>(),
          .server_lock = from.at("server_lock").get<bool>(),
          .mask = whole_number<uint64_t>(from, "mask"),
          .opcode = whole_number<uint32_t>(from, "opcode"),
          .step = whole_number<uint32_t>(from, "step")};
}

dump_actor actor_from(const json& from) {
  return {.name = from.at("name").get<std::string>(),
          .group = whole_number<uint32_t>(from, "group"),
          .member = whole_number<uint32_t>(from, "member"),
          .doing = from.at("doing").get<std::string>(),
          .operations = whole_number<uint64_t>(from, "operations"),
          .changes = whole_number<uint64_t>(from, "changes"),
          .events = whole_number<uint64_t>(from, "events"),
          .lost = whole_number<uint64_t>(from, "lost"),
          .waits = from.at("waits").get<std::string>()};
}

dump_event event_from(const json& from) {
  return {.clock_ns = whole_number<uint64_t>(from, "clock_ns"),
          .actor = whole_number<uint32_t>(from, "actor"),
          .operation = from.at("operation").get<std::string>(),
          .order = from.at("order").get<std::string>(),
          .scope = from.at("scope").get<std::string>(),
          .place = {.allocation = from.at("allocation").get<std::string>(),
                    .offset = whole_number<uint64_t>(from, "offset"),
                    .part = from.at("part").get<std::string>()},
          .before = whole_number<uint64_t>(from, "before"),
          .after = whole_number<uint64_t>(from, "after"),
          .changes = whole_number<uint32_t>(from, "changes"),
          .repeats = whole_number<uint32_t>(from, "repeats")};
}

dump dump_from(const json& from) {
  dump read;
  from.at("version").get_to(read.version);
  from.at("build_id").get_to(read.build_id);
  from.at("machine").get_to(read.machine);
  from.at("scenario").get_to(read.scenario);
  for (const auto& [key, value] : from.at("parameters").items())
    read.parameters.emplace_back(key, value.get<std::string>());
  if (!from.at("seed").is_null()) read.seed = whole_number<uint64_t>(from, "seed");
  from.at("run").get_to(read.run);
  from.at("reason").get_to(read.reason);
  from.at("seconds").get_to(read.seconds);
  from.at("recorded").get_to(read.recorded);
  from.at("whole").get_to(read.whole);
  read.without_log = whole_number<uint64_t>(from, "without_log");
  for (const json& each : from.at("ports")) read.ports.push_back(port_from(each));
  for (const json& each : from.at("actors")) read.actors.push_back(actor_from(each));
  for (const json& each : from.at("events")) read.events.push_back(event_from(each));
  return read;
}

/// What makes no sense although every key is there; empty when nothing.
std::string nonsense_in(const dump& read) {
  constexpr std::string_view operations[] = {"load", "store", "modify", "notify"};
  for (const dump_event& each : read.events) {
    if (each.actor >= read.actors.size())
      return "an event is of actor " + std::to_string(each.actor) + ", which is not there";
    bool known = false;
    for (const std::string_view operation : operations) known |= each.operation == operation;
    if (!known) return "an event is no operation: \"" + each.operation.substr(0, 64) + "\"";
  }
  return {};
}

dump_or_error failure(std::string line) { return {.value = {}, .error = std::move(line)}; }

}  // namespace

std::string to_json(const dump& left) {
  json head = {{"format", format_name},
               {"version", left.version},
               {"build_id", left.build_id},
               {"machine", left.machine},
               {"scenario", left.scenario},
               {"parameters", json::object()},
               {"seed", left.seed ? json(*left.seed) : json()},
               {"run", left.run},
               {"verdict", "hang"},
               {"reason", left.reason},
               {"seconds", left.seconds},
               {"recorded", left.recorded},
               {"whole", left.whole},
               {"without_log", left.without_log}};
  for (const auto& [key, value] : left.parameters) head["parameters"][key] = value;
  std::string text = head.dump(2, ' ', false, json::error_handler_t::replace);
  text.resize(text.rfind('\n'));  // the brace that ends it comes behind the lists
  return text + ",\n  \"ports\": " + lines_of(left.ports) + ",\n  \"actors\": " + lines_of(left.actors) +
         ",\n  \"events\": " + lines_of(left.events) + "\n}\n";
}

dump_or_error dump_from_json(std::string_view text) {
  try {
    const json from = json::parse(text);
    if (!from.is_object() || from.value("format", "") != format_name)
      return failure("this is no dump: its format is not \"" + std::string(format_name) + "\"");
    dump read = dump_from(from);
    if (const std::string wrong = nonsense_in(read); !wrong.empty()) return failure("this dump is damaged: " + wrong);
    return {.value = std::move(read), .error = {}};
  } catch (const json::parse_error& error) {
    return failure("this is no dump, or it is damaged or cut off: it is no JSON at byte " + std::to_string(error.byte));
  } catch (const json::exception& error) {
    const std::string what = error.what();
    return failure("this dump is damaged: " +
                   what.substr(what.find(']') == std::string::npos ? 0 : what.find(']') + 2));
  } catch (const std::invalid_argument& error) {
    return failure("this dump is damaged: " + std::string(error.what()));
  }
}

std::optional<std::string> write_dump(const dump& left, const std::string& file) {
  return scheduler::write_whole(file, to_json(left));
}

dump_or_error read_dump(const std::string& file) {
  std::error_code failed;
  const uint64_t bytes = std::filesystem::file_size(file, failed);
  if (failed) return failure("cannot read \"" + file + "\": " + failed.message());
  if (bytes > file_bytes_max) return failure("\"" + file + "\": this is no dump: it is too large");
  std::ifstream stream(file, std::ios::binary);
  std::string text(bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!stream) return failure("cannot read \"" + file + "\"");
  dump_or_error read = dump_from_json(text);
  if (!read.value) read.error = "\"" + file + "\": " + read.error;
  return read;
}

}  // namespace heddle::tools
