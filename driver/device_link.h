// The link between the driver and its devices: requests go one way, their answers the other, each takes its time.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/engine.h>
#include <heddle/driver/fifo.h>
#include <heddle/driver/settings.h>
#include <heddle/driver/trace.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::driver {

class device_link final : private event_handler {
 public:
  /// The devices' end of it.
  class far_end {
   public:
    virtual void arrive(const request& what) = 0;

   protected:
    ~far_end() = default;
  };

  /// `cycle` is woken when there is something to send, and when an answer has come.
  device_link(const driver_settings& settings, event_engine& engine, const tracer& tracing, ticking& cycle,
              far_end& devices)
      : settings_(&settings), engine_(&engine), tracer_(&tracing), cycle_(&cycle), devices_(&devices) {}
  device_link(const device_link&) = delete;
  device_link& operator=(const device_link&) = delete;
  ~device_link() = default;

  // -- the driver's end

  /// Whether there is room for another request that can wait.
  bool has_room() const { return port_.size() < settings_->port_requests; }
  /// The request waits until send_next() takes it.
  void send(request what);
  /// Puts the oldest request that waits on its way; false when there is none.
  bool send_next();
  /// The oldest answer that has come.
  std::optional<request> take_answer();

  // -- the devices' end

  /// The answer reaches the driver after `delay`.
  void answer(const request& what, picoseconds delay) { travel(what, true, delay); }

 private:
  struct in_flight {
    request what;
    bool is_answer = false;
  };

  void handle(const timed_event& now) override { arrived(now.detail); }
  void travel(const request& what, bool is_answer, picoseconds delay);
  void arrived(uint64_t slot);
  picoseconds way_to(const request& what) const;

  const driver_settings* settings_;
  event_engine* engine_;
  const tracer* tracer_;
  ticking* cycle_;
  far_end* devices_;
  uint64_t requests_made_ = 0;
  fifo<request> port_;     ///< waits to be sent
  fifo<request> answers_;  ///< have come, and wait to be looked at
  std::vector<in_flight> in_flight_;
  std::vector<uint64_t> free_in_flight_;
};

}  // namespace heddle::driver
