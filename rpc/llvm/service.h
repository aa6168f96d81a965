// The host side for programs that were built against LLVM's libc for GPUs: memory for their client, the threads that serve it, and how they
// start, wait and stop.
//
//   rpc::llvm::basic_service<target, device> host(device, {.ports = 64, .lanes = 32}, {.directory = "/var/tmp/job"});
//   host.start();
//   // Give rpc::Client(host.ports(), host.buffer()) to the program as LLVM's loaders do, and run it.
//   host.stop();        // what has been asked for by now is answered; join, or the destructor, waits for that
#pragma once

#include <heddle/rpc/device.h>
#include <heddle/rpc/llvm/handlers.h>
#include <string.h>
#include <sys/stat.h>

#include <string>
#include <utility>

namespace heddle::rpc::llvm {

/// How a service is laid out. A client has just as many ports and lanes.
struct service_shape {
  uint32_t ports = 64;          ///< calls at a time; best one a wave that may call, at most max_ports
  uint32_t lanes = 32;          ///< that the client was built with: 32 for NVIDIA, 32 or 64 for AMD, 1 for a host
  uint32_t servers = 1;         ///< threads; as many calls may be at work at a time
  uint32_t polls = 256;         ///< looks for work that find none before a thread sleeps
  uint64_t sleep_ns = 250'000;  ///< looks for work at least this often: this wire has no doorbell
  uint64_t memory_bytes = 0;    ///< device memory set aside for malloc
  revision header = revision::of_2025;  ///< of LLVM's, that the client was built with
  doorbell_words rings =
      {};  ///< for the revision of 2026: what clients ring; the program waits for it, and calls wake()
};

/// What a service has done so far.
struct service_counts {
  uint64_t calls = 0;      ///< ports served
  uint64_t unhandled = 0;  ///< of them, those with an opcode that has no handler: all words of the answer are 0
  uint64_t refused =
      0;  ///< lanes that got an error: a file, size, text, format, address or function that is none, or that is not allowed
  uint64_t given_up = 0;  ///< calls whose client did not go on, or made no sense; their ports are closed for good
  uint64_t thrown = 0;    ///< calls whose handler has thrown; their ports are closed for good
};

/// Has each opcode served: by a handler that was given to it, or as libc has it. Any thread may serve, once all handlers are there.
template <typename Target>
class basic_dispatcher {
 public:
  using handlers = libc_handlers<Target>;
  using port = typename handlers::port;

  basic_dispatcher(service_limits limits, service_policy policy, void* memory, uint64_t memory_bytes)
      : handlers_(std::move(limits), std::move(policy), memory, memory_bytes) {}

  /// `handler(port&)` serves calls with this opcode from now on, in place of whatever did.
  void set(uint32_t opcode, std::function<void(port&)> handler) { user_[opcode] = std::move(handler); }
  bool has(uint32_t opcode) const { return user_.contains(opcode); }

  /// Lets no exception through. False where nothing serves the opcode: its client gets words of 0.
  bool serve(port& opened, room& lanes, requested_end& end) {
    calls_.fetch_add(1, std::memory_order_relaxed);
    bool handled = true;
    const bool thrown = handlers_.shared().has_thrown("a handler of an opcode", [&] {
      if (const auto handler = user_.find(opened.opcode()); handler != user_.end()) return handler->second(opened);
      if (handlers_.serve(opened, lanes, end)) return;
      handled = false;
      unhandled_.fetch_add(1, std::memory_order_relaxed);
      // Its own packet would look like an answer.
      opened.recv([](const packet&, uint32_t) {});
      opened.send([](packet& to, uint32_t) { to = {}; });
    });
    if (thrown) {
      thrown_.fetch_add(1, std::memory_order_relaxed);
      // The client is somewhere in its call: whatever it got would be taken for something else.
      opened.abandon();
    } else if (opened.ended()) {
      given_up_.fetch_add(1, std::memory_order_relaxed);
    }
    return handled;
  }

  /// Ends the program if a client has asked for it. Its port is closed by then.
  void finish(const requested_end& end) {
    if (!end.wanted) return;
    (void)handlers_.shared().has_thrown("what ends the program", [&] { handlers_.shared().end_program(end); });
  }

  handlers& libc() { return handlers_; }
  const handlers& libc() const { return handlers_; }
  service_counts counts() const {
    return {calls_.load(std::memory_order_relaxed), unhandled_.load(std::memory_order_relaxed), handlers_.refusals(),
            given_up_.load(std::memory_order_relaxed), thrown_.load(std::memory_order_relaxed)};
  }

 private:
  handlers handlers_;
  std::unordered_map<uint32_t, std::function<void(port&)>> user_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> unhandled_{0};
  std::atomic<uint64_t> given_up_{0};
  std::atomic<uint64_t> thrown_{0};
};

/// `Device` is that of the machine. The device must outlive it, and so must the program that calls.
template <typename Target, typename Device>
class basic_service {
 public:
  using port = typename basic_dispatcher<Target>::port;

  static constexpr uint32_t servers_max = 1024;
  static constexpr uint64_t bound_bytes_min = 256;
  static constexpr uint64_t bound_bytes_max = uint64_t{1} << 30;

  /// Ends the program with a line where check() has one. `memory`, of layout::size_bytes() that both ends reach, is what a service before
  /// has served and has stopped: its clients, also those that wait, go on with this one, which has the same shape. Null: memory of its own.
  explicit basic_service(Device& on, service_shape shape = {}, service_limits limits = {}, service_policy policy = {},
                         void* memory = nullptr)
      : on_(on), shape_(shape), layout_{shape.ports, shape.lanes, shape.header} {
    check(shape, limits).value();
    if (memory == nullptr)
      owned_[0] = memory =
          on.template allocate_shared<line>((layout_.size_bytes() + sizeof(line) - 1) / sizeof(line), "llvm ports");
    buffer_ = memory;
    words_ = on.template allocate_shared<uint32_t>(own_words + server_end<Target>::own_words(shape.ports),
                                                   "llvm server words");
    owned_[1] = words_;
    at().show_doorbell();
    void* block = nullptr;
    if (shape.memory_bytes != 0)
      owned_[2] = block = on.template allocate_device<unsigned char>(shape.memory_bytes, "llvm malloc memory");
    bounds_ = {policy.patience_ns, policy.stream_bytes};
    calls_ =
        std::make_unique<basic_dispatcher<Target>>(std::move(limits), std::move(policy), block, shape.memory_bytes);
  }
  basic_service(const basic_service&) = delete;
  basic_service& operator=(const basic_service&) = delete;

  /// Stops and waits.
  ~basic_service() {
    stop();
    join();
    calls_.reset();
    bool told = false;
    for (void* const memory : owned_) {
      const result<void> freed = on_.try_free(memory);
      if (!freed && !std::exchange(told, true))
        fprintf(stderr, "heddle: a service is given back after an error: %s\n", freed.why().line().c_str());
    }
  }

  /// An error that names the first of these settings which cannot be.
  static result<void> check(const service_shape& shape, const service_limits& limits) {
    const auto doorbell = [](const char* why) { return error{"llvm service", "rings", "range", why}; };
    if (shape.rings.count != nullptr && shape.header != revision::of_2026)
      return doorbell("only clients of the revision of 2026 ring");
    if (shape.rings.count != nullptr && shape.rings.mailbox == nullptr)
      return doorbell(
          "a doorbell with a count needs a mailbox: LLVM's clients before #214037 store to it whatever it is");
    const auto between = [](const char* what, uint64_t value, uint64_t lowest, uint64_t highest) -> result<void> {
      if (value >= lowest && value <= highest) return {};
      return error{"llvm service", what, "range",
                   std::to_string(value) + "; it may be " + std::to_string(lowest) + " to " + std::to_string(highest)};
    };
    for (const result<void>& one :
         {between("ports", shape.ports, 1, max_ports_of(shape.header)), between("lanes", shape.lanes, 1, max_lanes),
          between("servers", shape.servers, 1, servers_max),
          between("bound_bytes", limits.bound_bytes, bound_bytes_min, bound_bytes_max),
          between("open_files", limits.open_files, 0, max_files - 3)})
      if (!one) return one.why();
    struct stat found{};
    if (limits.files == file_access::none || limits.directory.empty()) return {};
    if (stat(limits.directory.c_str(), &found) != 0)
      return error{"llvm service", "directory", limits.directory, strerror(errno)};
    if (!S_ISDIR(found.st_mode)) return error{"llvm service", "directory", limits.directory, "is no directory"};
    return {};
  }

  /// What LLVM's rpc::Client gets: `rpc::Client(ports(), buffer())`.
  void* buffer() const { return buffer_; }
  uint32_t ports() const { return shape_.ports; }

  // -- before start -----------------------------------------------------------------------------------------------------------

  /// Lets clients call this function of the host by the address that the host has for it, as rpc_host_call of LLVM's libc does. It gets a
  /// copy of the argument.
  result<void> allow(unsigned long long (*function)(void* argument)) {
    return allow(reinterpret_cast<uintptr_t>(function),
                 [function](std::span<unsigned char> argument) { return uint64_t{function(argument.data())}; });
  }
  /// The same under any number.
  result<void> allow(uint64_t number, host_function function) {
    if (has_started_) return started("llvm service::allow", std::to_string(number));
    if (calls_->libc().functions().try_emplace(number, std::move(function)).second) return {};
    return error{"llvm service::allow", std::to_string(number), "taken", "the number has a function"};
  }

  /// Has `handler(port&)` serve calls with an opcode that is none of libc. It mirrors what the client sends and receives, and ends when
  /// port.ended().
  result<void> on(uint32_t opcode, std::function<void(port&)> handler) {
    if (has_started_) return started("llvm service::on", std::to_string(opcode));
    if (opcode >> 24 == 'c')
      return error{"llvm service::on", std::to_string(opcode), "range",
                   "opcodes that begin with 'c' are those of libc: override_libc() replaces what they do"};
    if (calls_->has(opcode))
      return error{"llvm service::on", std::to_string(opcode), "taken", "the opcode has a handler"};
    calls_->set(opcode, std::move(handler));
    return {};
  }
  /// The same for an opcode of libc: from then on the handler does all of what it does, such as malloc from memory of the program's own.
  result<void> override_libc(opcode which, std::function<void(port&)> handler) {
    const auto number = static_cast<uint32_t>(which);
    if (has_started_) return started("llvm service::override_libc", std::to_string(number));
    if (calls_->has(number))
      return error{"llvm service::override_libc", std::to_string(number), "taken", "the opcode has a handler"};
    calls_->set(number, std::move(handler));
    return {};
  }

  // -- start and stop ---------------------------------------------------------------------------------------------------------

  /// Starts the threads; once, and behind the end of a service that has served the same memory.
  void start() {
    if (has_started_) return;
    has_started_ = true;
    at().begin();
    threads_.reserve(shape_.servers);
    for (uint32_t n = 0; n < shape_.servers; ++n)
      threads_.push_back(on_.spawn_host("llvm service", [this, n] { run(n); }));
  }

  /// Has the threads end when they have served each port once more at most. Returns at once; any thread may call, also inside a handler.
  /// What clients ask for afterwards is not answered, as this wire has no word for an end: stop when the program has ended, or start
  /// another service on the same memory.
  void stop() {
    // Release pairs with the acquire in run.
    word(stop_word).store(1, memory_order::release);
    wake();
  }

  /// Has threads that sleep look for work now: for a program that has been interrupted by a client's ring. Any thread may call.
  void wake() { Target::notify(words_[wake_word]); }

  /// Gives up the calls whose clients do not go on. Their ports are closed for good. Any thread may call, after stop.
  void give_up() const { at().give_up(); }

  /// Waits until the threads have ended; not from inside a handler. After about `patience_ns` gives up what still hangs, and answers false.
  bool join(uint64_t patience_ns = no_timeout) {
    bool drained = true;
    if (patience_ns != no_timeout) {
      constexpr uint64_t slices = 16;
      for (uint64_t slice = 0; slice < slices && ended_threads() < threads_.size(); ++slice)
        Target::wait(words_[ended_word], ended_threads(), patience_ns / slices);
      drained = ended_threads() >= threads_.size();
      if (!drained) give_up();
    }
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    return drained;
  }

  service_counts counts() const { return calls_->counts(); }
  const file_table& files() const { return std::as_const(*calls_).libc().shared().files(); }
  const memory_pool& memory() const { return std::as_const(*calls_).libc().shared().memory(); }

  /// For a program with a loop of its own, in place of start(): serves one port if one is ready, and says whether.
  bool serve_one(basic_server<Target>& from, room& lanes) {
    requested_end end;
    {
      port opened = from.try_open();
      if (!opened) return false;
      calls_->serve(opened, lanes, end);
    }
    calls_->finish(end);
    return true;
  }
  /// Its server; each thread has its own.
  basic_server<Target> server(uint32_t start = 0) {
    if (!std::exchange(has_started_, true)) at().begin();
    return {at(), bounds_, start};
  }

 private:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;
  static constexpr uint32_t stop_word = 0;
  static constexpr uint32_t ended_word = 1;
  static constexpr uint32_t wake_word = 2;
  static constexpr uint32_t own_words = 3;
  /// As the wire is aligned.
  struct alignas(64) line {
    unsigned char bytes[64];
  };

  static error started(const char* call, std::string subject) {
    return {call, std::move(subject), "started", "the service runs: register before start()"};
  }

  word_ref word(uint32_t n) const { return word_ref(words_[n]); }
  server_end<Target> at() const { return {buffer_, words_ + own_words, layout_, shape_.rings}; }
  uint32_t ended_threads() const { return word(ended_word).load(memory_order::acquire); }

  void run(uint32_t number) {
    const auto lanes = std::make_unique<room>();
    basic_server<Target> from(at(), bounds_, number);
    for (uint32_t empty_looks = 0;;) {
      // Before the looks for the end and for work. Acquire, here and below, pairs with the release in stop() and wake().
      const uint32_t wakes = word(wake_word).load(memory_order::acquire);
      if (word(stop_word).load(memory_order::acquire) != 0) break;
      if (serve_one(from, *lanes)) {
        empty_looks = 0;
      } else if (empty_looks < shape_.polls) {
        ++empty_looks;
        Target::pause();
      } else {
        Target::wait(words_[wake_word], wakes, shape_.sleep_ns);
      }
    }
    while (serve_last(from, *lanes)) {
    }
    Target::notify(words_[ended_word]);
  }

  /// Serves a port for the last time. However fast its client is, it is not served again.
  bool serve_last(basic_server<Target>& from, room& lanes) {
    requested_end end;
    {
      port opened = from.try_end();
      if (!opened) return false;
      opened.keep_when_closed();
      calls_->serve(opened, lanes, end);
    }
    calls_->finish(end);
    return true;
  }

  Device& on_;
  service_shape shape_;
  layout layout_;
  void* buffer_ = nullptr;
  uint32_t* words_ = nullptr;  ///< whether to stop; how many threads have ended; wake-ups; those of server_end
  void* owned_[3] = {};
  port_bounds bounds_;
  std::unique_ptr<basic_dispatcher<Target>> calls_;
  std::vector<decltype(std::declval<Device&>().spawn_host("llvm service", [] {}))> threads_;
  bool has_started_ = false;
};

}  // namespace heddle::rpc::llvm
