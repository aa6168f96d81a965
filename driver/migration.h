// Moving a unified page to the GPU that uses it.
#pragma once

#include <heddle/driver/middleware.h>

#include <cstdint>
#include <vector>

namespace heddle::driver {

/// One migration at a time, which the chain is offered first, as a command that is in no queue: of the page that was wanted first, together with the others that the same GPU wants of the same process
/// by then. All GPUs end their remote accesses; those that may hold a translation, and the page's owner, forget it, write their
/// caches back and stand still; each page gets a place on its new device and is copied, one after the other; then all go on. The page is
/// pinned after that, so it moves once. Where the new device has no room, it stays, and is used from afar.
///
/// The steps are those of MGPUSim's driver; the order of everything is that of the walks and of device numbers.
class migrator {
 public:
  /// What it needs beside the driver's services.
  class machine {
   public:
    /// Whether the GPU holds a translation of that page.
    virtual bool translates(device_id gpu, process_id process, uint64_t address) = 0;
    /// The old page's bytes have been moved away: they will not be read again.
    virtual void abandon(const page& old) = 0;
    /// The MMU's answer to all that waits for a page.
    virtual void answer_walks() = 0;

   protected:
    ~machine() = default;
  };

  migrator(driver_services& driver, machine& around) : driver_(&driver), around_(&around) {}

  void wants(page_slot& slot, device_id to) {
    wanted_.push_back({&slot, to});
    ++asked_;
  }

  /// Parts of the driver's tick: each says whether there was something to do.
  bool answer_mmu();
  bool send();
  bool take_wanted();
  bool receive(const request& answer);

  bool idle() const { return step_ == step::idle && wanted_.empty(); }
  /// Pages that were ever wanted.
  uint64_t asked() const { return asked_; }
  /// Pages that have moved.
  uint64_t moved() const { return moved_; }

 private:
  enum class step : uint8_t { idle, drain, shoot_down, copy, restart, restart_rdma, answer };
  struct wish {
    page_slot* slot = nullptr;
    device_id to = 0;
  };
  void send_to(const std::vector<device_id>& gpus, request_kind kind);
  /// Takes the first wish and those that go with it, unless the chain holds them back; whether it has.
  bool take(const wish& first);
  void let_go_on();

  driver_services* driver_;
  machine* around_;
  std::vector<wish> wanted_;  ///< in the order of the walks

  step step_ = step::idle;
  uint64_t unanswered_ = 0;
  device_id to_ = 0;
  process_id process_ = 0;
  command order_;  ///< what the chain is offered
  std::vector<page_slot*> slots_;
  std::vector<uint64_t> addresses_;  ///< of these pages
  size_t copied_ = 0;
  std::vector<page> old_;
  std::vector<device_id> all_;
  std::vector<device_id> stopped_;
  uint64_t moved_ = 0;
  uint64_t asked_ = 0;
};

}  // namespace heddle::driver
