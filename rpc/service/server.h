// The host side of a service: ports, the threads that serve them, and how they start, wait and stop.
//
//   rpc::service host(device, {.ports = 64, .lanes = 32});
//   host.add<double(rpc::span<const float>)>("sum", [](auto values) { ... });
//   host.start();
//   device.launch(shape, kernel{host.client()});
//   device.synchronize();
//   host.stop();        // what has been asked for by now is answered; join, or the destructor, waits for that
#pragma once

#include <errno.h>
#include <heddle/rpc/device.h>
#include <heddle/rpc/service/client.h>
#include <heddle/rpc/service/loop.h>
#include <string.h>
#include <sys/stat.h>

#include <concepts>
#include <memory>
#include <utility>

namespace heddle::rpc {

/// `Device` is that of the machine. The device must outlive it.
template <typename Target, typename Device, typename Check = unchecked>
class basic_service {
 public:
  using loop = service_loop<Target, Check>;
  using port = typename loop::port;
  using client_type = basic_service_client<Target, Check>;

  static constexpr uint32_t servers_max = 1024;
  static constexpr uint64_t bound_bytes_min = 256;
  static constexpr uint64_t bound_bytes_max = uint64_t{1} << 30;

  /// Ends the program with a line where check() has one.
  explicit basic_service(Device& on, service_shape shape = {}, service_limits limits = {}) : on_(on) {
    check(on, shape, limits).value();
    // A page belongs to the node of the thread that writes it first.
    const placed here(shape.placement);
    if (shape.lanes == 0) shape.lanes = on.max_lanes();
    layout_ = {shape.ports, shape.lanes, shape.stage_bytes, shape.answers == answer_memory::device};
    if (layout_.apart)
      answers_ = on.template try_allocate_mapped<unsigned char>(layout_.answer_bytes(), "service answers").value();
    ports_ = on.template allocate_shared<unsigned char>(layout_.size_bytes(), "service ports");
    client_locks_ = on.template allocate_device<uint32_t>(layout_.own_words(), "service client locks");
    // The last word is that of give_up.
    server_locks_ = on.template allocate_shared<uint32_t>(layout_.own_words(), "service server locks");
    words_ = on.template allocate_shared<uint32_t>(2, "service stop flag and threads that have ended");
    if (shape.memory_bytes != 0)
      memory_ = on.template allocate_device<unsigned char>(shape.memory_bytes, "service memory");
    loop_ = std::make_unique<loop>(memory_of_ports(), server_locks_, layout_, words_, shape,
                                   std::make_unique<service_handlers>(std::move(limits), memory_, shape.memory_bytes));
  }
  basic_service(const basic_service&) = delete;
  basic_service& operator=(const basic_service&) = delete;

  /// Where its ports lie, for tools that watch them.
  struct places {
    void* shared = nullptr;
    const uint32_t* client_locks = nullptr;
    const uint32_t* server_locks = nullptr;
    layout shape{};
    void* answers = nullptr;  ///< where the layout is `apart`
  };
  places where() const {
    places all;
    all.shared = ports_;
    all.client_locks = client_locks_;
    all.server_locks = server_locks_;
    all.shape = layout_;
    all.answers = answers_;
    return all;
  }

  /// Stops and waits. On a device that is lost, prints that its memory cannot be given back.
  ~basic_service() {
    stop();
    join();
    loop_.reset();
    bool told = false;
    for (void* const memory :
         {static_cast<void*>(ports_), static_cast<void*>(client_locks_), static_cast<void*>(server_locks_),
          static_cast<void*>(words_), static_cast<void*>(memory_), static_cast<void*>(answers_)}) {
      const result<void> freed = on_.try_free(memory);
      if (!freed && !std::exchange(told, true))
        fprintf(stderr, "heddle: a service is given back after an error: %s\n", freed.why().line().c_str());
    }
  }

  /// An error that names the first of these settings which cannot be.
  static result<void> check(Device& on, const service_shape& shape, const service_limits& limits) {
    const auto wrong = [](const char* what, uint64_t value, const std::string& may_be) {
      return error{"service", what, "range", std::to_string(value) + "; it may be " + may_be};
    };
    const auto between = [](uint64_t lowest, uint64_t highest) {
      return std::to_string(lowest) + " to " + std::to_string(highest);
    };
    if (shape.ports < 1 || shape.ports > max_ports) return wrong("ports", shape.ports, between(1, max_ports));
    if (shape.lanes > on.max_lanes())
      return wrong("lanes", shape.lanes, between(1, on.max_lanes()) + ", or 0 for the widest wave of the device");
    if (shape.servers < 1 || shape.servers > servers_max)
      return wrong("servers", shape.servers, between(1, servers_max));
    if (shape.stage_bytes > max_stage_bytes)
      return wrong("stage_bytes", shape.stage_bytes, between(0, max_stage_bytes));
    if (limits.bound_bytes < bound_bytes_min || limits.bound_bytes > bound_bytes_max || limits.bound_bytes % 8 != 0)
      return wrong("bound_bytes", limits.bound_bytes, "a multiple of 8, " + between(bound_bytes_min, bound_bytes_max));
    if (!shape.placement.is_anywhere() && !places_threads)
      return error{"service", "placement", "not supported", "this machine's threads run on no processors of their own"};
    if (const result<void> can = check_placement(shape.placement, shape.servers); !can) return can;
    struct stat found{};
    if (limits.files == file_access::none || limits.directory.empty()) return {};
    if (stat(limits.directory.c_str(), &found) != 0)
      return error{"service", "directory", limits.directory, strerror(errno)};
    if (!S_ISDIR(found.st_mode)) return error{"service", "directory", limits.directory, "is no directory"};
    return {};
  }

  /// What a kernel calls; a copy of it travels with the kernel.
  client_type client() const {
    return client_type(
        {memory_of_ports(), client_locks_, layout_, can_be_woken<Target> ? loop_->shape().rings : ringing(false)},
        loop_->handlers().limits().bound_bytes);
  }

  // -- before start ---------------------------------------------------------------------------------------------------------

  /// Registers a host function under a number below 2^63, or under a name. `Function` is its type, such as
  /// `int(span<char>, int)`; `callable` may be anything that can be called so, also what can only be moved, by several
  /// threads at a time where there are several servers. An error, when the number or the name is taken, or when the service runs.
  template <typename Function, std::integral Number, typename Callable>
  result<void> add(Number number, Callable callable) {
    const auto wide = static_cast<uint64_t>(number);
    if (wide >> 63 != 0)
      return error{"service::add", std::to_string(number), "range", "numbers from 2^63 on stand for names"};
    if (has_started_) return runs("service::add", std::to_string(number));
    return loop_->handlers().calls().template add<Function>(wide, std::to_string(number), std::move(callable));
  }
  template <typename Function, typename Callable>
  result<void> add(const char* name, Callable callable) {
    if (has_started_) return runs("service::add", name);
    return loop_->handlers().calls().template add<Function>(named(name), name, std::move(callable));
  }

  /// Has `handler(port&)` serve the ports that clients open with a user's own opcode. It mirrors what they send and
  /// receive, and ends when port.ended().
  result<void> on(uint16_t opcode, std::function<void(port&)> handler) {
    if (has_started_) return runs("service::on", std::to_string(opcode));
    if (is_reserved(opcode))
      return error{"service::on", std::to_string(opcode), "range", "opcodes below 32768 belong to the library"};
    if (!loop_->add_handler(opcode, std::move(handler)))
      return error{"service::on", std::to_string(opcode), "taken", "the opcode has a handler"};
    return {};
  }

  // -- start and stop -------------------------------------------------------------------------------------------------------

  /// Starts the threads; once.
  void start() {
    if (has_started_) return;
    has_started_ = true;
    threads_.reserve(loop_->shape().servers);
    for (uint32_t n = 0; n < loop_->shape().servers; ++n)
      threads_.push_back(on_.spawn_host("service", [serves = loop_.get(), n] {
        const placed here(serves->shape().placement, n);
        serves->run(n);
      }));
  }

  /// Has the threads end as soon as every call that was sent before is answered; a call that comes later is answered
  /// `ended`. Returns at once. Any thread may call, also one that is inside a handler. Of a service that was not started every call is `ended`.
  void stop() {
    loop_->stop();
    if (has_started_) return;
    // No thread will.
    give_up();
    (void)loop_->server().try_end();
  }

  /// Gives up the calls whose clients do not go on, and what lies in other ports: for clients that have died. Any
  /// thread may call, after stop. A host function that runs is waited for all the same.
  void give_up() { loop_->server().give_up(); }

  /// Waits until the threads have ended, behind stop(); not from inside a handler. After about `patience_ns` gives up what still
  /// hangs, and answers false.
  bool join(uint64_t patience_ns = no_timeout) {
    bool drained = true;
    if (patience_ns != no_timeout) {
      // A wait may return early for no reason: many short ones come closer to the time than one.
      constexpr uint64_t slices = 16;
      for (uint64_t slice = 0; slice < slices && loop_->ended_threads() < threads_.size(); ++slice)
        loop_->wait_for_ended_threads(loop_->ended_threads(), patience_ns / slices);
      drained = loop_->ended_threads() >= threads_.size();
      if (!drained) give_up();
    }
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    return drained;
  }

  service_counts counts() const { return loop_->counts(); }
  const service_handlers& handlers() const { return loop_->handlers(); }
  const service_shape& shape() const { return loop_->shape(); }

 private:
  static error runs(const char* call, std::string subject) {
    return {call, std::move(subject), "started", "the service runs: register before start()"};
  }

  static constexpr bool places_threads = requires { requires Device::has_processors; };
  port_memory memory_of_ports() const { return {ports_, answers_}; }

  Device& on_;
  layout layout_{};
  unsigned char* ports_ = nullptr;
  uint32_t* client_locks_ = nullptr;
  uint32_t* server_locks_ = nullptr;
  uint32_t* words_ = nullptr;
  unsigned char* memory_ = nullptr;
  unsigned char* answers_ = nullptr;
  std::unique_ptr<loop> loop_;
  std::vector<decltype(std::declval<Device&>().spawn_host("service", [] {}))> threads_;
  bool has_started_ = false;
};

}  // namespace heddle::rpc
