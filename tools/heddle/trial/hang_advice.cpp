#include <heddle/tools/trial/hang_advice.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace heddle::tools {

using sim::operation_kind;
using sim::run_record;

namespace {

class adviser {
 public:
  adviser(const run_record& of, const step_words& words, uint64_t round) : of_(of), words_(words), round_(round) {}

  std::string advise() const {
    using rule = std::string (adviser::*)() const;
    constexpr rule rules[] = {&adviser::on_lost,   &adviser::on_copy,      &adviser::on_turn,    &adviser::on_place,
                              &adviser::on_notice, &adviser::on_own_mutex, &adviser::on_erased,  &adviser::on_siblings,
                              &adviser::on_circle, &adviser::on_idle,      &adviser::on_unknown, &adviser::on_ended,
                              &adviser::on_driver, &adviser::on_round};
    for (const rule each : rules)
      if (const std::string text = (this->*each)(); !text.empty()) return "to change: " + text;
    return {};
  }

 private:
  /// A wait for memory that is part of the hang.
  struct look {
    std::string from;
    std::string over;
    uint32_t wave = 0;
  };

  std::vector<look> looks() const {
    std::vector<look> found;
    for (const size_t n : of_.circle) {
      const sim::wait_edge& each = of_.edges[n];
      found.push_back({.from = each.from, .over = each.over, .wave = each.from_wave});
    }
    for (const sim::unknown_wait& each : of_.unknown)
      found.push_back({.from = each.from, .over = each.over, .wave = each.from_wave});
    std::erase_if(found, [](const look& each) { return sort_of(each.over) != wait_sort::memory; });
    return found;
  }

  uint32_t wave_of(const run_record::step& one) const { return of_.actors[one.actor].wave; }
  bool is_at(const run_record::step& one, const std::string& place) const {
    return one.place != run_record::none && words_.is_at(one, place);
  }

  /// Where the wave waits in the end: "rpc/mailbox.h:37".
  std::string stand_of(uint32_t wave) const {
    const run_record::wait* const last = last_wait_of(of_, wave);
    if (last != nullptr && last->calls != run_record::none && !of_.call_chains[last->calls].empty())
      return of_.call_chains[last->calls].front().where();
    for (size_t n = of_.steps.size(); n-- > 0;)
      if (wave_of(of_.steps[n]) == wave) return words_.where(of_.steps[n]);
    return {};
  }
  std::string before_wait_of(uint32_t wave) const {
    const std::string stand = stand_of(wave);
    return stand.empty() ? " before it waits" : " before it waits at " + stand;
  }

  /// A ring, or a change by an atomic that the link does not carry.
  std::string on_lost() const {
    for (const look& each : looks())
      for (size_t n = of_.steps.size(); n-- > 0;) {
        const run_record::step& lost = of_.steps[n];
        if (!lost.lost || !is_at(lost, each.over)) continue;
        if (lost.kind != sim::operation_kind::notify)
          return "the link carries no atomics (link.rmw), and nothing comes of that of " + words_.name_of(lost.actor) +
                 words_.at(of_.first_step + n) +
                 ": count in the memory of the side that counts, and tell the other side by stores";
        return "a ring may be lost, as that of step " + std::to_string(of_.first_step + n) + " is: " + each.from +
               " has to look again after a while" + (stand_of(each.wave).empty() ? "" : " at " + stand_of(each.wave)) +
               ", or the side that rings to ring again";
      }
    return {};
  }

  std::string on_notice() const { return advice_on_lost_notice(of_, words_); }
  std::string on_ended() const { return advice_on_ended(of_, words_); }

  /// A copy by a call that waits for what waits for the copy.
  std::string on_copy() const {
    for (const size_t n : of_.circle) {
      const sim::wait_edge& each = of_.edges[n];
      if (each.why != sim::copied_behind_wait) continue;
      return each.to + " copies to " + words_.part_at(each.over) + at_stand(each.to_wave) +
             " when what its stream comes behind has ended, and " + each.from + " waits for that" +
             at_stand(each.from_wave) +
             ": copy before it is launched, or by an asynchronous copy in a stream that does not come behind it";
    }
    return {};
  }

  /// Work of a stream behind what waits for it.
  std::string on_turn() const {
    const size_t count = of_.circle.size();
    const auto edge = [&](size_t n) -> const sim::wait_edge& { return of_.edges[of_.circle[n % count]]; };
    const auto is_turn = [&](size_t n) { return sort_of(edge(n).over) == wait_sort::turn; };
    for (size_t n = 0; n < count; ++n) {
      // From the work that others wait for, to what its stream is at.
      if (!is_turn(n) || is_turn(n + count - 1)) continue;
      size_t last = n;
      while (is_turn(last + 1) && last + 1 < n + count) ++last;
      const sim::wait_edge& to = edge(last);
      return edge(n).from + " comes behind " + to.to + " in its stream, which waits for what comes of it" +
             at_stand(to.to_wave) + ": give it to the stream first, or to another stream";
    }
    return {};
  }
  std::string on_place() const {
    for (const size_t n : of_.circle) {
      const sim::wait_edge& each = of_.edges[n];
      const run_record::wave& to = of_.waves[each.to_wave];
      // It may get one behind the end of the hang, where that is looked at.
      const bool waits_for_place = std::any_of(of_.circle.begin(), of_.circle.end(), [&](size_t other) {
        return of_.edges[other].from_wave == each.to_wave && sort_of(of_.edges[other].over) == wait_sort::place;
      });
      if (to.host || (to.placed && !waits_for_place)) continue;
      return each.to +
             " has no place on the device before another wave ends: launch no more waves than have places, or let " +
             each.from + " wait for no wave that may not have begun" + at_stand(each.from_wave);
    }
    return {};
  }
  std::string at_stand(uint32_t wave) const {
    const std::string stand = stand_of(wave);
    return stand.empty() ? "" : " (" + stand + ")";
  }

  std::string on_own_mutex() const {
    for (const size_t n : of_.circle) {
      const sim::wait_edge& each = of_.edges[n];
      if (sort_of(each.over) != wait_sort::mutex || each.from_wave != each.to_wave) continue;
      const run_record::step* const held = words_.step_at(mutex_held_by(of_, each.from_wave));
      return each.from + " locks" + (stand_of(each.from_wave).empty() ? "" : " at " + stand_of(each.from_wave)) +
             " a mutex that it holds already" + (held == nullptr ? "" : ", from " + words_.where(*held)) +
             ": give it back before what locks it again is called";
    }
    return {};
  }

  /// A store that counts as older than one of another wave to the same place: nothing has ordered the two.
  std::string on_older(const look& waits) const {
    for (size_t n = of_.steps.size(); n-- > 0;) {
      const run_record::step& one = of_.steps[n];
      if (one.behind == run_record::never || !is_at(one, waits.over)) continue;
      const run_record::step* const newer = words_.step_at(one.behind);
      if (newer == nullptr || wave_of(*newer) == wave_of(one)) continue;
      return words_.name_of(newer->actor) + " erases" + words_.at(one.behind) + " what " + words_.name_of(one.actor) +
             " stores to " + words_.place_of(one) + " in step " + std::to_string(of_.first_step + n) +
             ", which counts as older: store there before the other side may, or not at all";
    }
    return {};
  }

  /// A store over one of another wave that the one which waits for it has not read.
  std::string on_erased() const {
    for (const look& each : looks()) {
      if (std::string older = on_older(each); !older.empty()) return older;
      size_t last = of_.steps.size();
      size_t before = of_.steps.size();
      for (size_t n = of_.steps.size(); n-- > 0 && before == of_.steps.size();) {
        if (!of_.steps[n].changes || !is_at(of_.steps[n], each.over)) continue;
        (last == of_.steps.size() ? last : before) = n;
      }
      if (before == of_.steps.size()) continue;
      const run_record::step& eraser = of_.steps[last];
      const run_record::step& erased = of_.steps[before];
      const bool is_read = std::any_of(of_.steps.begin(), of_.steps.end(), [&](const run_record::step& one) {
        return one.reads == of_.first_step + before && (wave_of(one) == each.wave || wave_of(one) == wave_of(eraser));
      });
      if (is_read || !sim::is_store(eraser.kind) || wave_of(eraser) == wave_of(erased) ||
          wave_of(erased) == each.wave || eraser.after == erased.after)
        continue;
      return words_.name_of(eraser.actor) + " erases" + words_.at(of_.first_step + last) + " what " +
             words_.name_of(erased.actor) + " has stored to " + words_.place_of(erased) + " in step " +
             std::to_string(of_.first_step + before) + ", and " + each.from +
             " has not read: store there before the other side may, or not at all";
    }
    return {};
  }

  std::string on_siblings() const {
    for (const size_t n : of_.circle) {
      const sim::wait_edge& each = of_.edges[n];
      if (sort_of(each.over) != wait_sort::siblings) continue;
      return "lanes of " + of_.waves[each.from_wave].name + " have one program counter, and go round" +
             (stand_of(each.to_wave).empty() ? "" : " at " + stand_of(each.to_wave)) +
             " while the others, which could end that, are masked off: let a lane do all of its work within a turn of "
             "the loop";
    }
    return {};
  }

  /// What would take one edge out of the circle.
  std::string without(const sim::wait_edge& each) const {
    const std::string wait = before_wait_of(each.to_wave);
    switch (sort_of(each.over)) {
      case wait_sort::mutex: {
        const run_record::step* const held = words_.step_at(mutex_held_by(of_, each.to_wave));
        return each.to + " gives back the mutex" + (held == nullptr ? "" : ", locked at " + words_.where(*held) + ",") +
               wait;
      }
      case wait_sort::end: {
        const std::string stand = stand_of(each.to_wave);
        return each.to + " ends without its wait" + (stand.empty() ? "" : " at " + stand);
      }
      case wait_sort::memory:
        return of_memory(each, wait);
      default:
        return {};
    }
  }

  std::string of_memory(const sim::wait_edge& each, const std::string& wait) const {
    std::string place = words_.part_at(each.over);
    std::string where;
    if (const run_record::step* const looked = words_.step_at(last_look_of(of_, words_, each.from_wave, each.over))) {
      place = words_.place_of(*looked);
      if (words_.is_lock_of_slot(*looked)) return each.to + " gives back " + place + wait;
      if (const run_record::step* const taken = lock_taken_before(of_, words_, *looked, each.to_wave))
        return each.to + " gives back " + place + ", taken at " + words_.where(*taken) + "," + wait;
    }
    for (size_t n = of_.steps.size(); n-- > 0 && where.empty();)
      if (wave_of(of_.steps[n]) == each.to_wave && (sim::is_store(of_.steps[n].kind) || of_.steps[n].changes) &&
          is_at(of_.steps[n], each.over))
        where = words_.where(of_.steps[n]);
    constexpr std::string_view elsewhere = " stored it at ";
    if (const size_t told = each.why.find(elsewhere); where.empty() && told != std::string::npos)
      where = each.why.substr(told + elsewhere.size(),
                              each.why.find_first_of(" ,;", told + elsewhere.size()) - told - elsewhere.size());
    const bool is_notice = waits_for_notice(of_, each.from_wave);
    return each.to +
           (is_file_place(place) ? " writes to "
            : is_notice          ? " gives notice at "
                                 : " stores ") +
           place + (where.empty() ? "" : ", as at " + where + ",") + wait;
  }

  /// Whether code behind the wait stores there the run does not say: that would come too late.
  std::string what_is_missing(const sim::unknown_wait& at) const {
    const std::string end = ", or end the wait of " + at.from + at_stand(at.from_wave) + " another way";
    if (is_file_place(at.over)) return "nothing is written to " + at.over + " any more: write to it" + end;
    if (waits_for_notice(of_, at.from_wave))
      return "no notice comes to " + words_.part_at(at.over) + " any more: give it" + end;
    return "nothing has stored " + words_.part_at(at.over) + ": store it before " + at.from + " waits for it" +
           at_stand(at.from_wave) + ", or have a thread do so that does not wait for " + at.from +
           ", or end that wait another way";
  }

  std::string on_circle() const {
    constexpr size_t most_told = 3;
    std::vector<std::string> ways;
    for (const size_t n : of_.circle) {
      const std::string way = without(of_.edges[n]);
      if (!way.empty() && std::find(ways.begin(), ways.end(), way) == ways.end() && ways.size() < most_told)
        ways.push_back(way);
    }
    std::string text;
    for (size_t n = 0; n < ways.size(); ++n) text += (n == 0 ? "" : "; or ") + ways[n];
    const bool are_locks = ways.size() > 1 && ways.size() == of_.circle.size() &&
                           std::all_of(ways.begin(), ways.end(), [](const std::string& each) {
                             return each.find(" gives back ") != std::string::npos;
                           });
    return text + (are_locks ? "; or all take them in one order" : "");
  }

  /// Of a wait at the barrier of the grid.
  std::string ended_beside(uint32_t waits) const {
    for (const run_record::wave& other : of_.waves)
      if (!other.host && other.ended && other.launched == of_.waves[waits].launched)
        return other.name + " has ended: each block comes to the barrier of its grid as often as the others do" +
               at_stand(waits);
    return {};
  }

  /// A thread that looks at several words for work and finds none, while another waits for what it has stored before.
  std::string on_idle() const {
    for (const sim::wait_edge& each : of_.edges) {
      const auto polls = std::count_if(of_.unknown.begin(), of_.unknown.end(), [&](const sim::unknown_wait& one) {
        return one.from_wave == each.to_wave && sort_of(one.over) == wait_sort::memory;
      });
      if (polls > 1 && !each.supposed && each.from_wave != each.to_wave && sort_of(each.over) == wait_sort::memory)
        return without(each);
    }
    return {};
  }

  /// Threads that have ended without a store that others of their kind have made.
  std::string on_unknown() const {
    for (const sim::unknown_wait& each : of_.unknown)
      if (each.over.starts_with("grid barrier"))
        if (const std::string text = ended_beside(each.from_wave); !text.empty()) return text;
    for (const sim::unknown_wait& each : of_.unknown) {
      if (sort_of(each.over) != wait_sort::memory) continue;
      const run_record::step* store = nullptr;
      std::set<uint32_t> storers;
      for (const run_record::step& one : of_.steps)
        if (one.changes && is_at(one, each.over) && sim::may_write(one.kind)) {
          store = &one;
          storers.insert(wave_of(one));
        }
      // What other schedules store, or what was stored before there was another actor, is not missing.
      if (store == nullptr && each.why.find("in other schedules") != std::string::npos) continue;
      if (store == nullptr) return what_is_missing(each);
      for (uint32_t wave = 0; wave < of_.waves.size(); ++wave) {
        const run_record::wave& other = of_.waves[wave];
        const run_record::wave& kin = of_.waves[wave_of(*store)];
        // Of one launch they do the same; a fill in front of it does not.
        if (!other.ended || storers.contains(wave) || other.host != kin.host) continue;
        if (!other.host && other.launched != kin.launched) continue;
        return other.name + " has ended and has not stored " + words_.place_of(*store) + ", as " +
               words_.name_of(store->actor) + " has at " + words_.where(*store) +
               ": do so on each way out, or do not wait for it" + at_stand(each.from_wave);
      }
    }
    return {};
  }

  /// The driver has seen nothing of a launch, and all launches before it are over.
  std::string on_driver() const {
    const auto is_device_alone = [](const run_record::wave& each) { return each.host || !each.placed || each.ended; };
    if (!of_.unknown.empty() || !std::all_of(of_.waves.begin(), of_.waves.end(), is_device_alone)) return {};
    for (const sim::wait_edge& each : of_.edges) {
      const run_record::wave& to = of_.waves[each.to_wave];
      if (sort_of(each.over) != wait_sort::end || to.host || to.placed) continue;
      const run_record::step* const launch = words_.step_at(to.launched + 1);
      size_t n = of_.steps.size();
      while (n > 0 && of_.steps[n - 1].kind != operation_kind::drive) --n;
      if (n == 0 || launch == nullptr || launch->kind != operation_kind::launch) continue;
      if (of_.first_step + n - 1 > to.launched) continue;
      return words_.name_of(of_.steps[n - 1].actor) + " takes its last step, " +
             std::to_string(of_.first_step + n - 1) + ", before " + words_.name_of(launch->actor) + " launches " +
             to.name + words_.at(to.launched + 1) +
             ", and does not look again: wake it for each command, also when it seems awake, or let it look once more "
             "before it rests";
    }
    return {};
  }

  /// Of steps that are repeated for ever: a word that a wave looks at, and that none of them stores.
  std::string on_round() const {
    const size_t count = of_.steps.size();
    if (round_ == 0 || round_ > count) return {};
    const auto changes_in_round = [&](auto&& is_meant) {
      for (size_t n = count; n-- > count - round_;)
        if (of_.steps[n].changes && is_meant(of_.steps[n])) return n;
      return count;
    };
    for (size_t n = count; n-- > count - round_;) {
      const run_record::step& seen = of_.steps[n];
      const uint32_t wave = wave_of(seen);
      if (seen.place == run_record::none || !seen.has_value || sim::may_write(seen.kind) || is_plain_access(seen.kind))
        continue;
      // It does nothing else, and the word is up to others.
      if (changes_in_round([&](const run_record::step& one) { return wave_of(one) == wave; }) != count) continue;
      if (std::any_of(of_.steps.begin(), of_.steps.end(), [&](const run_record::step& one) {
            return one.address == seen.address && one.changes && wave_of(one) == wave;
          }))
        continue;
      if (changes_in_round([&](const run_record::step& one) { return one.address == seen.address; }) != count) continue;
      // Before what hands on what it has done, where there is such a step.
      size_t other = changes_in_round([&](const run_record::step& one) {
        return one.operation != run_record::none && of_.texts[one.operation].find(" release") != std::string::npos;
      });
      if (other == count)
        other = changes_in_round([](const run_record::step& one) { return !is_plain_access(one.kind); });
      if (other == count) continue;
      const run_record::step& last = of_.steps[other];
      return "none of these steps stores " + words_.place_of(seen) + ", which " + words_.name_of(seen.actor) +
             " waits for" + words_.at(of_.first_step + n) + ": " + words_.name_of(last.actor) + ", which " +
             words_.deed_of(last) + words_.at(of_.first_step + other) + " each time, has to store it before that";
    }
    return {};
  }

  const run_record& of_;
  const step_words& words_;
  const uint64_t round_;
};

}  // namespace

std::string advice_on_hang(const run_record& of, const step_words& words, uint64_t round) {
  const std::string text = adviser(of, words, round).advise();
  return text.empty() ? advice_on_arrivals(of, words) : text;
}

}  // namespace heddle::tools
