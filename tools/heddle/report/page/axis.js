// Along what time runs down the page: the steps in the order of the schedule, or virtual time. A rank is where a step stands along the axis;
// behind a boundary, which is a number of steps, is the rank of the last of them and one.

const has_times = data.times.length !== 0;
/// Of each step, where the clock of its thread stands behind it, in ns.
const times = (() => {
  const found = new Float64Array(has_times ? step_count : 0);
  const stands = new Float64Array(actors.length);
  let next = 0;
  for (let step = 0; step < found.length; ++step) {
    const actor = sorts[step_sort[step]][0];
    if (next < data.times.length && data.times[next][0] === step) stands[actor] = data.times[next++][1];
    found[step] = stands[actor];
  }
  return found;
})();
const ns_words = (ns) => `${ns.toLocaleString("en")} ns`;

const axis = {
  is_time: false,
  order: null,       // steps, by rank; null: in the order of the schedule
  ranks: null,       // of steps
  judged: judged_at, // the rank behind all steps before a hang was certain
  arrows: null,
};
const rank_of = (step) => axis.ranks === null ? step : axis.ranks[step];
const step_of_rank = (rank) => axis.order === null ? rank : axis.order[rank];
const rank_behind = (boundary) => boundary <= 0 || axis.ranks === null ? boundary : axis.ranks[boundary - 1] + 1;

/// Steps at the same time stand in the order of the schedule: what a thread does stands in its order.
const by_time = (() => {
  let made = null;
  return () => {
    if (made !== null) return made;
    const order = Int32Array.from(step_sort.keys()).sort((one, other) => times[one] - times[other] || one - other);
    const ranks = new Int32Array(step_count);
    order.forEach((step, rank) => { ranks[step] = rank; });
    made = {order, ranks};
    return made;
  };
})();

// Arrows by blocks of ranks, so that those in view are found without a look at all.
const block_steps = 256;
const arrows_by_block = () => {
  const blocks = [];
  const wide = [];
  flows.forEach((flow, n) => {
    const ends = [flow.store, flow.seen, flow.missed].filter((step) => step !== never).map(rank_of);
    const from = Math.floor(Math.min(...ends) / block_steps), to = Math.floor(Math.max(...ends) / block_steps);
    if (to - from > 16) { wide.push(n); return; }
    for (let block = from; block <= to; ++block) (blocks[block] = blocks[block] || []).push(n);
  });
  return {blocks, wide};
};

/// Ranks of a list of boundaries, none of them before the one that it follows.
const ranks_in_order = (boundaries) => {
  let last = 0;
  return Int32Array.from(boundaries, (boundary) => (last = Math.max(last, rank_behind(boundary))));
};

/// Whoever calls it makes the rows again.
const set_axis = (is_time) => {
  axis.is_time = is_time && has_times;
  ({order: axis.order, ranks: axis.ranks} = axis.is_time ? by_time() : {order: null, ranks: null});
  axis.judged = judged_at;
  for (let step = 0; axis.is_time && step < judged_at; ++step) axis.judged = Math.max(step === 0 ? 0 : axis.judged, rank_of(step) + 1);
  for (const actor of actors) {
    const from = ranks_in_order(actor.waits.map((wait) => wait.from));
    actor.waits.forEach((wait, n) => {
      wait.from_rank = from[n];
      wait.to_rank = wait.to === never ? never : rank_behind(wait.to);
    });
  }
  for (const strip of strips) strip.ranks = ranks_in_order(strip.steps);
  axis.arrows = arrows_by_block();
};
set_axis(false);

// -- how far rows are apart -----------------------------------------------------------------------------------------------------------

const gap_most = 8; // lines; a longer one is cut short

/// In lines, where each row begins, and where the last one ends; null: a line each. Between rows is room for the time that passes there: a line for
/// what is usual.
const lines_of_rows = (count, step_of_row) => {
  if (!axis.is_time) return null;
  const passed = (row) => times[step_of_row(row + 1)] - times[step_of_row(row)];
  const usual = [];
  for (let row = 0; row + 1 < count; ++row) if (passed(row) > 0) usual.push(passed(row));
  usual.sort((one, other) => one - other);
  const ns_per_line = usual[usual.length >> 1] || 1;
  const lines = new Float64Array(count + 1);
  for (let row = 0; row < count; ++row)
    lines[row + 1] = lines[row] + 1 + (row + 1 < count ? Math.min(gap_most, passed(row) / ns_per_line) : 0);
  return lines;
};
