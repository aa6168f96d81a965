// What a run on a real machine left behind when it hung: the state of the ports, what each actor waits for, and the last events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::tools {

/// A place in memory: an allocation by its name, and what lies there if it is known.
struct dump_place {
  std::string allocation;  ///< "ports"; of several with one name "ports 2"
  uint64_t offset = 0;     ///< in bytes
  std::string part;        ///< "port 0, client's outbox"; empty when nothing is known
  friend bool operator==(const dump_place&, const dump_place&) = default;
};

struct dump_event {
  uint64_t clock_ns = 0;
  uint32_t actor = 0;     ///< its index in dump::actors
  std::string operation;  ///< load, store, modify or notify
  std::string order;
  std::string scope;
  dump_place place;
  uint64_t before = 0;
  uint64_t after = 0;
  uint32_t changes = 0;  ///< how often the actor had changed memory before
  uint32_t repeats = 0;
  friend bool operator==(const dump_event&, const dump_event&) = default;
};

struct dump_actor {
  std::string name;
  uint32_t group = 0;   ///< host threads and waves, in order of creation
  uint32_t member = 0;  ///< the lane of the wave
  std::string doing;    ///< running, synchronizes, joins, sleeps, ended
  uint64_t operations = 0;
  uint64_t changes = 0;
  uint64_t events = 0;  ///< ever
  uint64_t lost = 0;    ///< of them, overwritten by later ones
  std::string waits;    ///< what it looks at again and again, in words; empty when nothing
  friend bool operator==(const dump_actor&, const dump_actor&) = default;
};

struct dump_port {
  std::string set;  ///< the allocation
  uint32_t port = 0;
  std::string owner;  ///< client or server
  uint32_t client_outbox = 0;
  uint32_t server_outbox = 0;
  bool client_lock = false;
  bool server_lock = false;
  uint64_t mask = 0;
  uint32_t opcode = 0;
  uint32_t step = 0;
  friend bool operator==(const dump_port&, const dump_port&) = default;
};

struct dump {
  std::string version;
  std::string build_id;
  std::string machine;  ///< host, cuda or hip
  std::string scenario;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::optional<uint64_t> seed;  ///< of the pauses; none when there were none
  uint64_t run = 1;              ///< which repetition hung, from 1
  std::string reason;            ///< why this was taken for a hang
  double seconds = 0;            ///< since the run began
  bool recorded = false;         ///< whether the flight recorder was on
  bool whole = false;            ///< whether device memory has been read: the client's locks
  uint64_t without_log = 0;      ///< actors beyond those that have a log
  std::vector<dump_port> ports;
  std::vector<dump_actor> actors;
  std::vector<dump_event> events;  ///< of all actors, in order of their clocks
  friend bool operator==(const dump&, const dump&) = default;
};

/// JSON, a line for each event and port; docs/traces.md says what each key means.
std::string to_json(const dump& left);

/// A dump, or one line that says what is wrong with its text.
struct dump_or_error {
  std::optional<dump> value;
  std::string error;
};
dump_or_error dump_from_json(std::string_view text);

/// Writes the file whole and synced, or not at all. Nothing on success, otherwise one line.
std::optional<std::string> write_dump(const dump& left, const std::string& file);

/// Reads such a file.
dump_or_error read_dump(const std::string& file);

}  // namespace heddle::tools
