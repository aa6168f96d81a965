// Reverse offload as the nvptx patch of August 2022 had it, and as its review would have it: one mailbox of libgomp's own layout, in which
// each thing that the review is about can be done wrong by itself.
//
// libgomp, config/nvptx/target.c (GOMP_target_ext) and plugin/plugin-nvptx.c (GOMP_OFFLOAD_run). One lane makes a request.
#pragma once

#include <heddle/tools/scenario.h>

#include <cstddef>

namespace heddle::tests::reviewed {

/// As `struct rev_offload`: both sides have this one definition.
struct mailbox {
  uint64_t fn;  ///< 0: no request
  uint64_t mapnum;
  uint64_t addrs;
  uint64_t sizes;
  uint64_t kinds;
  uint32_t dev_num;
  uint32_t lock;  ///< of the patch
};
static_assert(sizeof(mailbox) == 48 && offsetof(mailbox, fn) == 0 && offsetof(mailbox, lock) == 44);

/// How an access of `fn` is made.
enum class access : uint8_t { right, seq_cst, relaxed, plain, device_scope };

enum class memory : uint8_t { shared, copied, copied_at_once };

/// What is done otherwise than the review would have it; as it stands here nothing is.
struct choices {
  memory where = memory::shared;
  bool lock_in_mailbox = false;  ///< the lock is taken across the link
  bool no_lock = false;          ///< there is none
  bool atomic_fields = false;    ///< each argument is stored sequentially consistent
  bool publishes_first = false;  ///< fn is stored before the arguments
  bool says_nothing = false;     ///< a request that cannot be made returns in silence
  bool clears_first = false;     ///< fn is cleared before the results are back
  bool two_serve = false;        ///< two threads look at the mailbox, and nothing claims a request
  bool needs_launch_lock =
      false;  ///< the function takes the lock that the launching thread holds until the kernel has ended
  access publish = access::right;  ///< by the device
  access wait = access::right;
  access look = access::right;  ///< by the host
  access clear = access::right;
};

template <access How>
uint64_t load(uint64_t& word) {
  if constexpr (How == access::plain) return word;
  if constexpr (How == access::device_scope)
    return target::atomic_ref<uint64_t, scope::device>(word).load(memory_order::acquire);
  constexpr memory_order order = How == access::seq_cst   ? memory_order::seq_cst
                                 : How == access::relaxed ? memory_order::relaxed
                                                          : memory_order::acquire;
  // Acquire pairs with the release of store(), on the other side.
  return target::atomic_ref<uint64_t, scope::system>(word).load(order);
}

template <access How>
void store(uint64_t& word, uint64_t value) {
  if constexpr (How == access::plain) {
    word = value;
  } else if constexpr (How == access::device_scope) {
    target::atomic_ref<uint64_t, scope::device>(word).store(value, memory_order::release);
  } else {
    constexpr memory_order order = How == access::seq_cst   ? memory_order::seq_cst
                                   : How == access::relaxed ? memory_order::relaxed
                                                            : memory_order::release;
    // Release pairs with the acquire of load(), on the other side.
    target::atomic_ref<uint64_t, scope::system>(word).store(value, order);
  }
}

/// What the device asks: `fn` is the number of the request and one more, the rest follows from it.
constexpr uint64_t sizes_of(uint64_t fn) { return fn * 5; }
constexpr uint64_t kinds_of(uint64_t fn) { return fn * 7; }
constexpr uint64_t result_of(uint64_t argument) { return argument * 3 + 1; }

template <choices Made>
struct kernel {
  mailbox* at;
  uint32_t* own_lock;
  uint64_t* data;  ///< an argument and a result for each request
  uint32_t requests;

  void operator()() const {
    for (uint32_t n = 0; n < requests; ++n) {
      const uint64_t number = uint64_t{target::wave_id()} * requests + n;
      data[2 * number] = number + 100;
      // The device's variable that points to the mailbox may not be set.
      request(Made.says_nothing && n + 1 == requests ? nullptr : at, number + 1, &data[2 * number]);
      HEDDLE_CHECK(data[2 * number + 1] == result_of(number + 100), "a requester went on before its result was there");
    }
  }

 private:
  void request(mailbox* to, uint64_t fn, uint64_t* addrs) const {
    if (to == nullptr) {
      if constexpr (Made.says_nothing) return;
      target::trap(fault::protocol, "a request cannot be made");
    }
    take_lock(*to);
    if constexpr (Made.publishes_first) store<Made.publish>(to->fn, fn);
    set(to->mapnum, 1);
    set(to->addrs, reinterpret_cast<uint64_t>(addrs));
    set(to->sizes, sizes_of(fn));
    set(to->kinds, kinds_of(fn));
    if constexpr (!Made.publishes_first) store<Made.publish>(to->fn, fn);
    while (load<Made.wait>(to->fn) != 0) target::pause();
    give_lock(*to);
  }

  static void set(uint64_t& field, uint64_t value) {
    if constexpr (Made.atomic_fields)
      store<access::seq_cst>(field, value);
    else
      field = value;
  }

  void take_lock(mailbox& to) const {
    if constexpr (Made.no_lock) return;
    // Acquire pairs with the release in give_lock of the last holder.
    if constexpr (Made.lock_in_mailbox)
      while (target::atomic_ref<uint32_t, scope::system>(to.lock).exchange(1, memory_order::acquire) != 0)
        target::pause();
    else
      while (target::atomic_ref<uint32_t, scope::device>(*own_lock).exchange(1, memory_order::acquire) != 0)
        target::pause();
  }
  void give_lock(mailbox& to) const {
    if constexpr (Made.no_lock) return;
    if constexpr (Made.lock_in_mailbox)
      target::atomic_ref<uint32_t, scope::system>(to.lock).store(0, memory_order::release);
    else
      target::atomic_ref<uint32_t, scope::device>(*own_lock).store(0, memory_order::release);
  }
};

/// One host thread's way to the mailbox. In copy mode `fn` comes and goes by copies of its own.
template <choices Made>
class server {
 public:
  server(device& on, mailbox* at, uint32_t* handled, uint32_t* launch_lock, uint64_t requests)
      : on_(&on), at_(at), handled_(handled), launch_lock_(launch_lock), requests_(requests) {}

  void poll() {
    mailbox seen = {};
    if (!look(seen)) return;
    if constexpr (Made.clears_first) clear();
    run(seen);
    if constexpr (!Made.clears_first) clear();
  }

 private:
  static constexpr bool is_copied = Made.where != memory::shared;

  bool look(mailbox& seen) const {
    if constexpr (Made.where == memory::shared) {
      seen.fn = load<Made.look>(at_->fn);
      if (seen.fn == 0) return false;
      seen.mapnum = at_->mapnum;
      seen.addrs = at_->addrs;
      seen.sizes = at_->sizes;
      seen.kinds = at_->kinds;
      return true;
    }
    on_->copy(&seen, at_, Made.where == memory::copied ? sizeof seen.fn : sizeof seen);
    if (seen.fn == 0) return false;
    if constexpr (Made.where == memory::copied) on_->copy(&seen, at_, sizeof seen);
    return true;
  }

  void clear() const {
    if constexpr (is_copied) {
      const uint64_t none = 0;
      on_->copy(&at_->fn, &none, sizeof none);
    } else {
      store<Made.clear>(at_->fn, 0);
    }
  }

  void run(const mailbox& request) const {
    HEDDLE_CHECK(request.fn <= requests_, "a function that nothing asked for");
    HEDDLE_CHECK(request.mapnum == 1 && request.addrs != 0 && request.sizes == sizes_of(request.fn) &&
                     request.kinds == kinds_of(request.fn),
                 "the arguments of another request");
    using word = target::atomic_ref<uint32_t, scope::system>;
    HEDDLE_CHECK(word(handled_[request.fn - 1]).fetch_add(1, memory_order::relaxed) == 0, "a request is run twice");
    if constexpr (Made.needs_launch_lock) {
      while (word(*launch_lock_).exchange(1, memory_order::acquire) != 0) target::pause();
      word(*launch_lock_).store(0, memory_order::release);
    }
    auto* const data = reinterpret_cast<uint64_t*>(request.addrs);
    uint64_t argument = 0;
    copy(&argument, &data[0]);
    HEDDLE_CHECK(argument == request.fn - 1 + 100, "the argument is not this request's");
    const uint64_t result = result_of(argument);
    copy(&data[1], &result);
  }

  /// Behind what `addrs` names.
  void copy(uint64_t* to, const uint64_t* from) const {
    if constexpr (is_copied)
      on_->copy(to, from, sizeof *to);
    else
      *to = *from;
  }

  device* on_;
  mailbox* at_;
  uint32_t* handled_;
  uint32_t* launch_lock_;
  uint64_t requests_;
};

}  // namespace heddle::tests::reviewed
