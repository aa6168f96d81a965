// What every scenario of reverse offload needs: memory for both ends, servers until the kernel has ended, and an account of requests.
#pragma once

#include "ports.h"

#include <string>
#include <type_traits>

namespace heddle::tests {

inline std::vector<parameter> offload_parameters(int64_t waves, int64_t lanes, int64_t calls) {
  return {
      parameter::number("waves", waves, 1, 65536, "", "waves that call"),
      parameter::number("lanes", lanes, 1, 64, "", "lanes of each wave"),
      parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
      parameter::number("calls", calls, 1, 100000, "", "calls that each lane makes"),
  };
}

inline parameter entries_parameter(const char* entries) {
  return parameter::one_of("entries", entries, {"1", "2", "4", "8", "16", "64", "256", "1024"},
                           "entries between client and server");
}

inline uint32_t entries_of(const parameters& set) {
  return set.has("entries") ? static_cast<uint32_t>(std::stoul(set.text("entries"))) : 1;
}

/// The verdict where one entry is shared by a lock: `ok` where its holder is guaranteed turns, or no other wave is there.
inline scheduler::verdict needs_fair_requesters(const parameters& set) {
  if (!set.has("progress")) return scheduler::verdict::ok;
  const std::string& model = set.text("progress");
  const bool hangs = model == "unfair" || (model == "hsa" && set.count("waves") > 1);
  return hangs ? scheduler::verdict::progress : scheduler::verdict::ok;
}

/// Where entries are handed out in order: a lane that stands still keeps one, and the calls of all others come round to it.
inline scheduler::verdict needs_fair_ring(const parameters& set) {
  const uint64_t others = uint64_t{set.count("waves")} * set.count("lanes") - 1;
  return others * set.count("calls") < entries_of(set) && set.has("progress") && set.text("progress") == "hsa"
             ? scheduler::verdict::ok
             : needs_fair_requesters(set);
}

// -- the requests ----------------------------------------------------------------------------------------------------------------

/// What the host can be asked for. The last two it must refuse.
enum class offloaded : uint64_t { change_word, change_payload, send_much, unheard_of };

inline rpc::offload_limits offload_limits_of_tests(std::span<const rpc::payload_range> payloads) {
  return {.functions = static_cast<uint64_t>(offloaded::unheard_of),
          .payload_bytes = sizeof(uint64_t),
          .payloads = payloads};
}

/// Two neighbours ask for the same.
HEDDLE_FUNCTION constexpr offloaded asked_for(uint32_t number, uint32_t call) {
  return static_cast<offloaded>((number / 2 + call) % 4);
}
HEDDLE_FUNCTION constexpr bool is_refused(offloaded what) {
  return what == offloaded::send_much || what == offloaded::unheard_of;
}
HEDDLE_FUNCTION constexpr uint64_t second_argument(uint64_t id) { return id * 5 + 2; }
HEDDLE_FUNCTION constexpr uint64_t changed_by_host(uint64_t value) { return value * 3 + 1; }

template <typename Client>
struct offload_kernel {
  Client client;
  callers who;
  uint64_t* payloads;  ///< one for each request

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const offloaded what = asked_for(who.number(), call);
      payloads[id] = ~id;
      uint64_t answer = 0;
      const rpc::offload_status status = client.call(
          static_cast<uint64_t>(what),
          [&](rpc::offload_line& line, uint32_t) {
            line.words[0] = id;
            line.words[1] = second_argument(id);
            line.payload = reinterpret_cast<uint64_t>(&payloads[id]);
            line.payload_bytes = what == offloaded::send_much ? uint64_t{1} << 63 : sizeof(uint64_t);
          },
          [&](rpc::offload_line& line, uint32_t) { answer = line.words[0]; });
      if (what == offloaded::unheard_of) {
        HEDDLE_CHECK(status == rpc::offload_status::unknown_function, "a function that is not there is not refused");
      } else if (what == offloaded::send_much) {
        HEDDLE_CHECK(status == rpc::offload_status::too_large, "a payload above the limit is not refused");
      } else {
        HEDDLE_CHECK(status == rpc::offload_status::done, "a request was not served");
        HEDDLE_CHECK(answer == changed_by_host(id), "the answer is not the one to this lane's request");
        HEDDLE_CHECK(payloads[id] == (what == offloaded::change_payload ? changed_by_host(~id) : ~id),
                     "the payload is not what the host has made of it");
      }
    }
  }
};

/// Runs what the host is asked for, and counts each request.
template <typename Server>
struct offloaded_functions {
  const Server& server;
  uint32_t* handled;
  uint64_t requests;

  void operator()(uint64_t function, rpc::offload_line& line, uint32_t) const {
    const uint64_t id = line.words[0];
    HEDDLE_CHECK(!is_refused(static_cast<offloaded>(function)), "a request is run that must be refused");
    HEDDLE_CHECK(id < requests, "a request has a number that was never given out");
    HEDDLE_CHECK(line.words[1] == second_argument(id), "the arguments of two requests are mixed");
    HEDDLE_CHECK(shared_word<uint32_t>(handled[id]).fetch_add(1, memory_order::relaxed) == 0,
                 "a request is handled twice");
    HEDDLE_CHECK(line.payload != 0 && line.payload_bytes == sizeof(uint64_t), "the payload of another request");
    if (static_cast<offloaded>(function) == offloaded::change_payload) {
      uint64_t payload = 0;
      HEDDLE_CHECK(server.fetch(&payload, line.payload, sizeof payload), "the payload is out of reach");
      HEDDLE_CHECK(payload == ~id, "the payload is not this request's");
      payload = changed_by_host(payload);
      HEDDLE_CHECK(server.put(line.payload, &payload, sizeof payload), "the payload is out of reach");
    }
    line.words[0] = changed_by_host(id);
  }
};

// -- both ends -------------------------------------------------------------------------------------------------------------------

/// The host's way to memory that only the device reaches.
struct device_copy {
  device* on;
  void operator()(void* to, const void* from, size_t bytes) const { on->copy(to, from, bytes); }
};

/// The memory of a set of entries and of the account of their requests.
template <bool Copied>
class offload_test {
 public:
  offload_test(device& on, const parameters& set)
      : on_(on),
        set_(set),
        shape_{entries_of(set), set.count("lanes")},
        requests_(uint64_t{set.count("waves")} * set.count("lanes") * set.count("calls")) {
    memory_ = allocate<unsigned char>(shape_.size_bytes(), "requests");
    payloads_ = allocate<uint64_t>(requests_, "payloads");
    payload_memory_ = {reinterpret_cast<uint64_t>(payloads_), requests_ * sizeof(uint64_t)};
    own_ = on.allocate_device<uint32_t>(1, "lock or next ticket");
    locks_ = on.allocate_shared<uint32_t>(shape_.lock_words(), "server locks");
    handled_ = on.allocate_shared<uint32_t>(requests_, "handled requests");
    stop_ = on.allocate_shared<uint32_t>(1, "stop flag");
    stream_ = on.create_stream();
  }

  /// The first call gets this ticket, and not 0.
  template <typename Form>
  void begin_with_ticket(uint32_t first) {
    on_.copy(own_, &first, sizeof first);
    for (uint32_t entry = 0; entry < shape_.entries; ++entry) {
      const uint64_t turn = Form::turn_before(first, entry, shape_);
      on_.copy(memory_ + shape_.entry_offset(entry), &turn, sizeof turn);
    }
  }

  template <typename Form, typename Machine = target>
  rpc::basic_offload_client<Machine, Form, rpc::checking> client() const {
    return {memory_, own_, shape_};
  }
  template <typename Machine>
  using entries_on = std::conditional_t<Copied, rpc::copied_entries<device_copy>, rpc::mapped_entries<Machine>>;
  template <typename Machine = target>
  entries_on<Machine> entries() const {
    if constexpr (Copied)
      return {memory_, shape_, device_copy{&on_}};
    else
      return entries_on<Machine>(memory_, shape_);
  }
  template <typename Form, typename Machine = target>
  rpc::basic_offload_server<Machine, Form, entries_on<Machine>, rpc::checking> server(uint32_t start = 0) const {
    return {entries<Machine>(), locks_, offload_limits_of_tests({&payload_memory_, 1}), start};
  }

  /// A server that reaches its entries in a way of its own.
  template <typename Form, typename Memory>
  rpc::basic_offload_server<target, Form, Memory, rpc::checking> server_with(Memory memory, uint32_t start = 0) const {
    return {memory, locks_, offload_limits_of_tests({&payload_memory_, 1}), start};
  }

  device& on() const { return on_; }
  unsigned char* memory() const { return memory_; }
  uint32_t* own() const { return own_; }
  rpc::offload_layout shape() const { return shape_; }
  /// In which the calls are made.
  device::stream stream() const { return stream_; }

  /// Runs the calls on all waves while servers serve them; then checks that each that was not to be refused was run once, and that no
  /// entry is in use. `make_server(n)` makes the view of the n-th server thread.
  template <typename Client, typename MakeServer>
  void run(Client client, MakeServer make_server) {
    std::vector<decltype(on_.spawn_host("server", [] {}))> servers;
    servers.reserve(set_.count("servers"));
    for (uint32_t n = 0; n < set_.count("servers"); ++n)
      servers.push_back(on_.spawn_host(
          "server", [server = make_server(n), handled = handled_, requests = requests_, stop = stop_]() mutable {
            const offloaded_functions<decltype(server)> functions{server, handled, requests};
            while (true) {
              // Read before the look for work: what was posted before the flag was set is then found.
              const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
              if (server.handle(functions)) continue;
              if (ends) return;
              target::pause();
            }
          }));
    launch(client);
    on_.synchronize();
    // Release pairs with the acquire in the servers' loops.
    shared_word<uint32_t>(*stop_).store(1, memory_order::release);
    for (auto& server : servers) server.join();
    check(make_server(0));
  }

  // For a server of several devices.
  template <typename Client>
  void launch(Client client) {
    on_.launch({.blocks = 1, .waves = set_.count("waves"), .lanes = set_.count("lanes")},
               offload_kernel<Client>{client, {set_.count("lanes"), set_.count("calls")}, payloads_}, stream_);
  }
  uint32_t* handled() const { return handled_; }
  uint64_t requests() const { return requests_; }
  uint32_t& stop_word() const { return *stop_; }
  /// That each request that was not to be refused was run once, and that no entry is in use. For when no thread acts any more.
  template <typename Server>
  void check(Server server) {
    for (uint32_t number = 0; number < set_.count("waves") * set_.count("lanes"); ++number)
      for (uint32_t call = 0; call < set_.count("calls"); ++call)
        HEDDLE_CHECK(shared_word<uint32_t>(handled_[uint64_t{number} * set_.count("calls") + call])
                             .load(memory_order::relaxed) == (is_refused(asked_for(number, call)) ? 0 : 1),
                     "a request was not handled");
    HEDDLE_CHECK(server.all_idle(), "an entry is in use in the end");
  }

 private:
  template <typename T>
  T* allocate(size_t count, const char* name) {
    // A kernel waits on what the host copies.
    return Copied ? on_.template try_allocate_fine<T>(count, name).value()
                  : on_.template allocate_shared<T>(count, name);
  }

  device& on_;
  const parameters& set_;
  rpc::offload_layout shape_;
  uint64_t requests_;
  unsigned char* memory_ = nullptr;
  uint64_t* payloads_ = nullptr;
  rpc::payload_range payload_memory_;
  uint32_t* own_ = nullptr;
  uint32_t* locks_ = nullptr;
  uint32_t* handled_ = nullptr;
  uint32_t* stop_ = nullptr;
  device::stream stream_{};
};

/// Makes the view of each server thread.
template <typename Test, typename Form, typename Machine>
struct make_offload_server {
  const Test& test;
  auto operator()(uint32_t n) const { return test.template server<Form, Machine>(n); }
};

/// The calls, with each end on a machine of its own.
template <typename Form, bool Copied, typename ClientMachine = target, typename ServerMachine = target>
void run_offload_on(const parameters& set) {
  device on;
  offload_test<Copied> test(on, set);
  if constexpr (!Form::has_one_entry)
    if (set.has("first")) test.template begin_with_ticket<Form>(set.count("first"));
  test.run(test.template client<Form, ClientMachine>(),
           make_offload_server<offload_test<Copied>, Form, ServerMachine>{test});
}

}  // namespace heddle::tests
