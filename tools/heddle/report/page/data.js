// The data of the page, unpacked into arrays by step. Steps count from 0 here; people see data.first_step more.

const data = JSON.parse(document.getElementById("data").textContent);
const texts = data.texts;
const sorts = data.sorts; // [actor, operation, letter, place, bytes, value, calls, part]
const step_count = data.steps.length;
const step_sort = Int32Array.from(data.steps);
const end_row = step_count;

const unknown_store = -1; // nothing is known of what a load has read
const initial_store = -2; // what was there in the beginning
const earlier_store = -3; // a store before the first step that is shown
const never = -1;

/// The step as an index; `number` is one of those that people see, behind which something is.
const index_of = (number) => number - data.first_step;
const number_of = (index) => index + data.first_step;

const read_from = (() => {
  const found = new Int32Array(step_count).fill(unknown_store);
  const last = new Int32Array(sorts.length).fill(unknown_store);
  let next = 0;
  for (let step = 0; step < step_count; ++step) {
    const sort = step_sort[step];
    if (next < data.reads.length && data.reads[next][0] === step) {
      const from = data.reads[next++][1];
      last[sort] = from === null ? unknown_store : from === 0 ? initial_store : from < data.first_step ? earlier_store : index_of(from);
    }
    found[step] = last[sort];
  }
  return found;
})();

const old_reads = new Set(data.old);
const lost_rings = new Set(data.lost);
/// Of stores that were not in memory at once: when they were, or never.
const late_stores = new Map(data.late.map(([step, arrived]) => [step, arrived === null ? never : index_of(arrived)]));
const written_values = new Map(data.written);
/// What the machine chose in a step: of a load, the number of the newer store that it missed; of a store, that of the newer one that it counts as
/// older than; of others, a few words.
const missed_stores = new Map(data.missed);
const stores_behind = new Map(data.behind);
const odd_steps = new Map(data.odd_steps);
/// A step of the run by its number, as an index; what is before the first that is shown has none.
const index_or_none = (number) => number >= data.first_step && index_of(number) < step_count ? index_of(number) : never;

const waves = data.waves.map((wave, index) => ({...wave, index, actors: []}));
const actors = data.actors.map(([name, wave, lane, begun, ended], index) => {
  const actor = {index, name, wave, lane, begun: index_of(begun) + 1, ended: ended === null ? never : index_of(ended) + 1,
                 steps: [], waits: []};
  waves[wave].actors.push(actor);
  return actor;
});
for (let step = 0; step < step_count; ++step) actors[sorts[step_sort[step]][0]].steps.push(step);
for (const [actor, from, to, why, text] of data.waits)
  actors[actor].waits.push({from: Math.max(0, index_of(from) + 1), to: to === null ? never : index_of(to) + 1, why,
                            text: text === null ? "" : texts[text]});

const strips = data.strips.map((strip, index) => ({
  ...strip, index,
  steps: Int32Array.from(strip.changes, (change) => index_of(change[0]) + 1), // the row from which on it holds
}));
const flows = data.flows.map(([store, seen, missed]) => ({store, seen: seen === null ? never : seen, missed: missed === null ? never : missed}));
const judged_at = data.judged === null ? never : index_of(data.judged) + 1;
/// Steps that the finding is about: both accesses of a race, and the store and the load of the edge that it lacks.
const finding_steps = data.race.map((number) => index_of(number)).filter((step) => step >= 0 && step < step_count);

const actor_of = (step) => actors[sorts[step_sort[step]][0]];
const operation_of = (step) => texts[sorts[step_sort[step]][1]];
const letter_of = (step) => sorts[step_sort[step]][2];
const value_of = (step) => { const value = sorts[step_sort[step]][5]; return value === null ? "" : texts[value]; };
const calls_of = (step) => { const calls = sorts[step_sort[step]][6]; return calls === null ? [] : data.calls[calls]; };
const line_name = ([file, line]) => line > 0 ? `${file}:${line}` : file;
/// Frames of compilers' libraries and of the simulator say nothing about the program.
const is_library = ([file]) => file.startsWith("/usr/") || file.startsWith("sim/") || file.startsWith("tools/");
/// The innermost line of the program.
const where_of = (step) => {
  const calls = calls_of(step);
  const own = calls.find((call) => !is_library(call)) || calls[0];
  return own ? line_name(own) : "";
};
/// "rmw acq_rel sys": a row of the run is narrow. What is selected stands there in full.
const short_words = [["read-modify-write", "rmw"], ["compare-exchange", "cas"], ["acquire", "acq"], ["release", "rel"], ["relaxed", "rlx"],
                     ["seq_cst", "sc"], ["system", "sys"], ["device", "dev"], ["block barrier", "barrier"]];
const short_operations = texts.map((text) => short_words.reduce((made, [long, short]) => made.replace(long, short), text));
const short_operation_of = (step) => short_operations[sorts[step_sort[step]][1]];
/// "ports+0x80 (port 0, server's outbox)"
const place_name = (place, part) => place === null ? "" : part === null ? texts[place] : `${texts[place]} (${texts[part]})`;
const place_of = (step) => place_name(sorts[step_sort[step]][3], sorts[step_sort[step]][7]);
/// "port 0, server's outbox", "ring->tail", "ready+0x4"
const short_place_of = (step) => {
  const place = sorts[step_sort[step]][3], part = sorts[step_sort[step]][7];
  return place === null ? "" : texts[part === null ? place : part];
};
/// The same for a text that names places, as those of waits do.
const part_by_text = new Map(Object.entries(data.parts).map(([place, part]) => [texts[place], part]));
const with_parts = (text) => text.split(/, (?!which )/).map((one) => {
  const place = one.split(/ = |, /, 1)[0];
  const part = part_by_text.get(place);
  return part ? `${place} (${part})${one.slice(place.length)}` : one;
}).join(", ");

/// The first index of a sorted list whose element is not less than `wanted`.
const lower_bound = (list, wanted, key = (one) => one) => {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) < wanted) low = middle + 1; else high = middle;
  }
  return low;
};

const outgoing_flows = (step) => {
  const found = [];
  for (let n = lower_bound(flows, step, (flow) => flow.store); n < flows.length && flows[n].store === step; ++n) found.push(flows[n]);
  return found;
};

/// What the actor does in this step of the run, in words: [words, whether it stands still].
const state_at = (actor, step) => {
  if (step < actor.begun) return ["has no place yet", true];
  if (actor.ended !== never && step >= actor.ended && actor.steps.at(-1) !== step) return ["has ended", false];
  const n = lower_bound(actor.waits, step + 1, (wait) => wait.from) - 1;
  if (n >= 0 && (actor.waits[n].to === never || step < actor.waits[n].to)) return [wait_words(actor.waits[n]), true];
  return ["can run", false];
};
const wait_words = (wait) => {
  switch (wait.why) {
    case "change": return `waits for a change of ${with_parts(wait.text)}`;
    case "collective": return `waits at a ${wait.text}`;
    case "barrier": return "waits at a block barrier";
    case "mutex": return "waits for a mutex";
    case "notice": return "waits for notice";
    case "device": return "waits for the device";
    case "join": return "waits for a thread to end";
    case "masked off": return "is masked off";
    case "evicted": return "could run, but is off the device";
    default: return `waits in ${wait.text}`;
  }
};

const strip_change_at = (strip, row) => lower_bound(strip.steps, row + 1) - 1; // -1: as it began
const state_words = (strip, change) => {
  const state = change < 0 ? 0 : strip.changes[change][1];
  if (strip.kind === "word") return change < 0 ? "as it was" : texts[state];
  const client = (state & 1) !== 0, server = (state & 2) !== 0;
  const held = [(state & 4) && "client", (state & 8) && "server"].filter(Boolean).join(" and ");
  let owner = client === server ? "the client's" : "the server's";
  if (strip.kind === "slot")
    owner = !client && !server ? "idle" : client && !server ? "a request, the server's" : client ? "a result, the client's" : "acknowledged, to be cleared";
  return `${owner}; outboxes ${client ? 1 : 0} ${server ? 1 : 0}; locked by ${held || "nothing"}${state & 16 ? "; a side has ended" : ""}`;
};
