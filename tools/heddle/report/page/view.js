// What is shown of the run, and where: rows are the steps that the filters leave, columns the waves and slots.

const view = {
  rows: null,        // steps, in order of the axis, of several that are folded the first; null: all of them, in the order of the schedule
  filtered: null,    // likewise without folds
  lines: null,       // where rows begin, in lines (lines_of_rows()); null: a line each
  folds: true,
  unfolded: new Set(), // first steps of folds that have been opened
  alike: true,       // waves that behave alike share a column
  spread: new Set(), // groups of them that do not
  row_height: 20,    // in pixels; below `text_from` there is no text
  wave: -1,          // index, or -1 for all
  slot: -1,
  lanes: new Set(),  // waves that are shown lane by lane
  selected: 0,       // a step
  frame: -1,         // of the selected step's calls; -1: the innermost of the program
  all_frames: false, // those of libraries too
  needle: "",
  matching: null,    // by sort
  columns: [],       // {x, width, title, actors} and {x, width, title, strip}
  text_x: 0,
  head: 40,
  axis: 58,          // how wide its numbers are
};
const text_from = 13;
const row_height_max = 40;

const row_count = () => view.rows === null ? step_count : view.rows.length;
const step_at = (row) => view.rows === null ? row : view.rows[row];
/// Of a row's step: {count, last} where it stands for several.
let folded = new Map();
/// The row of the step with that rank, or of the next one that is shown.
const row_of_rank = (rank) => {
  if (view.rows === null) return rank;
  const row = lower_bound(view.rows, rank, rank_of);
  const is_there = row < view.rows.length && rank_of(view.rows[row]) === rank;
  const fold = row > 0 && !is_there ? folded.get(view.rows[row - 1]) : undefined;
  return fold && rank <= rank_of(fold.last) ? row - 1 : row;
};
const row_of = (step) => row_of_rank(rank_of(step));
const is_shown = (step) => view.rows === null || view.rows[lower_bound(view.rows, rank_of(step), rank_of)] === step;
/// In lines from the first one.
const line_of_row = (row) => view.lines === null ? row : view.lines[Math.min(row, view.lines.length - 1)];
const line_count = () => line_of_row(row_count());
/// The row at that line, or the last one before it.
const row_of_line = (line) => view.lines === null ? Math.floor(line) : lower_bound(view.lines, line + 1e-6) - 1;

/// Steps that bring nothing new: their actor does again, with the same values, what it has done since it last stored anything else.
const idle_steps = (() => {
  const idle = new Uint8Array(step_count);
  const seen = actors.map(() => new Set());
  for (let step = 0; step < step_count; ++step) {
    const sort = step_sort[step], letter = sorts[sort][2], place = sorts[sort][3];
    const mine = seen[sorts[sort][0]];
    const looks = letter === "r" || letter === "p" || letter === "c" || letter === "f" || (letter === "m" && !written_values.has(step));
    // Memory of its own, which has no name, concerns nothing else either.
    if (mine.has(sort) || (letter === "r" && place !== null && texts[place].startsWith("0x"))) idle[step] = 1;
    else if (!looks) mine.clear();
    mine.add(sort);
  }
  // What the page points at stays.
  const ends = [...finding_steps, judged_at - 1, ...odd_steps.keys(), ...flows.flatMap((flow) => [flow.store, flow.seen, flow.missed])];
  for (const step of ends) if (step >= 0 && step < step_count) idle[step] = 0;
  return idle;
})();
const fold_least = 3;

/// Makes the rows of what the filters leave: neighbours that bring nothing new are one.
const fold_rows = () => {
  folded = new Map();
  view.rows = view.filtered === null ? axis.order : view.filtered;
  if (view.folds) fold_neighbours(row_count(), step_at);
  view.lines = lines_of_rows(row_count(), step_at);
};
const fold_neighbours = (count, at) => {
  const is_like = (step, first) => idle_steps[step] && (!axis.is_time || times[step] === times[first]);
  const rows = [];
  for (let row = 0; row < count;) {
    let end = row;
    while (end < count && is_like(at(end), at(row)) && (end === row || rank_of(at(end)) !== axis.judged)) ++end;
    rows.push(at(row));
    if (end - row >= fold_least && !view.unfolded.has(at(row))) {
      folded.set(at(row), {count: end - row, last: at(end - 1)});
      row = end;
    } else {
      for (++row; row < end; ++row) rows.push(at(row));
    }
  }
  if (folded.size !== 0) view.rows = Int32Array.from(rows);
};
const is_filtered = (step) => view.filtered === null || view.filtered[lower_bound(view.filtered, rank_of(step), rank_of)] === step;
/// Opens the fold that the step is in; false: it is in none.
const unfold = (step) => {
  if (view.rows === null) return false;
  const first = view.rows[row_of(step)];
  const fold = folded.get(first);
  if (!fold || rank_of(step) < rank_of(first) || rank_of(step) > rank_of(fold.last)) return false;
  view.unfolded.add(first);
  fold_rows();
  return true;
};

const set_filters = (wave, slot) => {
  view.wave = wave;
  view.slot = slot;
  if (wave < 0 && slot < 0) {
    view.filtered = null;
  } else {
    const places = slot < 0 ? null : new Set(strips[slot].places);
    const wanted = Uint8Array.from(sorts, ([actor, , , place]) =>
      (wave < 0 || actors[actor].wave === wave) && (places === null || places.has(place)) ? 1 : 0);
    const rows = [];
    for (let rank = 0; rank < step_count; ++rank) if (wanted[step_sort[step_of_rank(rank)]]) rows.push(step_of_rank(rank));
    view.filtered = Int32Array.from(rows);
  }
  fold_rows();
  if (row_count() !== 0 && !is_shown(view.selected)) view.selected = step_at(Math.min(row_of(view.selected), row_count() - 1));
};

/// Which sorts of steps have all words of the search in them.
const set_search = (needle) => {
  view.needle = needle.trim().toLowerCase();
  if (view.needle === "") { view.matching = null; return; }
  const words = view.needle.split(/\s+/);
  view.matching = Uint8Array.from(sorts, ([actor, operation, , place, , value, calls, part]) => {
    const lines = calls === null ? [] : data.calls[calls];
    const all = [actors[actor].name, texts[operation], place_name(place, part), value === null ? "" : texts[value],
                 ...lines.map((line) => `${line_name(line)} ${line[2]}`)].join(" ").toLowerCase();
    return words.every((word) => all.includes(word)) ? 1 : 0;
  });
};
const is_match = (step) => view.matching !== null && view.matching[step_sort[step]] === 1;
const count_matches = () => {
  let count = 0;
  const steps = view.filtered === null ? step_count : view.filtered.length;
  if (view.matching !== null) for (let n = 0; n < steps; ++n) count += view.matching[step_sort[view.filtered === null ? n : view.filtered[n]]];
  return count;
};
const next_match = (direction) => {
  const rows = row_count();
  for (let n = 1; n <= rows; ++n) {
    const row = (((row_of(view.selected) + direction * n) % rows) + rows) % rows;
    if (is_match(step_at(row))) return step_at(row);
  }
  return view.selected;
};

const has_life = (actor) => actor.steps.length !== 0 || actor.ended === never || actor.ended > actor.begun;

/// Waves of the device that come by the same lines in the same order and end alike, as one column; from so many waves on.
const alike_from = 5;
const wave_groups = (() => {
  const found = new Map();
  const device = waves.filter((wave) => !wave.host && wave.actors.some(has_life));
  if (device.length < alike_from) return found;
  const hash = (text) => { let made = 7; for (let n = 0; n < text.length; ++n) made = (made * 31 + text.charCodeAt(n)) | 0; return made; };
  const groups = new Map();
  for (const wave of device) {
    const way = wave.actors.map((actor) => {
      const lines = new Set();
      for (const step of actor.steps) lines.add(sorts[step_sort[step]][1] * data.calls.length + (sorts[step_sort[step]][6] ?? -1));
      const wait = actor.waits.find((one) => one.to === never);
      return `${hash([...lines].join())} ${actor.ended !== never} ${wait ? wait.why : ""}`;
    });
    const key = way.join(";");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(wave);
  }
  for (const members of groups.values()) if (members.length > 1) for (const wave of members) found.set(wave.index, members);
  return found;
})();
/// "waves 3-31": names that end in numbers, the rest as they are.
const group_title = (members) => {
  const numbers = members.map((wave) => Number(/^wave (\d+)$/.exec(wave.name)?.[1] ?? NaN)).sort((one, other) => one - other);
  if (numbers.some(Number.isNaN)) return `${members.length} like ${members[0].name}`;
  const ranges = [];
  for (const number of numbers) {
    if (ranges.length && ranges.at(-1)[1] === number - 1) ranges.at(-1)[1] = number; else ranges.push([number, number]);
  }
  const words = ranges.map(([from, to]) => from === to ? `${from}` : `${from}-${to}`);
  return words.length <= 2 ? `waves ${words.join(", ")}` : `${members.length} waves like ${numbers[0]}`;
};

const text_width = 610; // of a row, with its gaps
const title_most = 22; // letters
const title_width = (() => {
  const paper = document.createElement("canvas").getContext("2d");
  return (text) => { paper.font = "12px system-ui, 'DejaVu Sans', sans-serif"; return paper.measureText(text).width + 4; };
})();

const lay_out_columns = (width) => {
  view.columns = [];
  const shown = waves.filter((wave) => wave.actors.some(has_life) || (!wave.placed && !wave.ended));
  const wanted = [];
  for (const wave of shown) {
    const group = view.alike && view.wave < 0 ? wave_groups.get(wave.index) : undefined;
    if (group && !view.spread.has(group[0].index)) {
      if (group[0] === wave) wanted.push({title: group_title(group), wave, group, actors: group.flatMap((one) => one.actors)});
    } else if (view.lanes.has(wave.index)) {
      for (const actor of wave.actors) wanted.push({title: actor.name, wave, actors: [actor]});
    } else {
      wanted.push({title: wave.name, wave, actors: wave.actors});
    }
  }
  const digits = axis.is_time && step_count ? times.reduce((most, one) => Math.max(most, one), 0).toLocaleString("en").length : 0;
  view.axis = Math.max(58, Math.ceil(digits * 6.7) + 10);
  const room = Math.max(0, width - view.axis - 20 - text_width);
  const each = Math.max(13, Math.min(92, Math.floor(room * 0.65 / Math.max(1, wanted.length))));
  let x = view.axis;
  for (const column of wanted) {
    view.columns.push({x, width: each, ...column});
    x += each;
  }
  x += 8;
  const named = strips.some((strip) => strip.kind !== "word");
  const most = Math.max(named ? 3 : 2, Math.min(12, Math.floor((room - each * wanted.length) / (named ? 44 : 56))));
  for (const strip of view.slot >= 0 ? [strips[view.slot]] : strips.slice(0, most)) {
    const own = strip.kind === "word" ? 52 : 40;
    view.columns.push({x, width: own, title: strip.name, strip});
    x += own + 4;
  }
  view.text_x = x + 6;
  // Titles that are wider than their columns stand upright.
  for (const column of view.columns) {
    column.label = column.title.length > title_most ? `...${column.title.slice(3 - title_most)}` : column.title;
    column.title_width = title_width(column.label);
    column.turned = column.title_width > column.width;
  }
  const upright = view.columns.filter((column) => column.turned).map((column) => column.title_width);
  view.head = upright.length === 0 ? 40 : Math.max(40, Math.min(175, Math.ceil(Math.max(...upright)) + 10));
};

/// Where an actor's steps stand in its column.
const place_in_column = (column, actor) => column.actors.length === 1 ? column.x + column.width / 2
  : column.x + 4 + (column.width - 8) * (column.actors.indexOf(actor) + 0.5) / column.actors.length;
const positions = () => {
  const found = new Float64Array(actors.length).fill(-1);
  for (const column of view.columns) if (column.actors) for (const actor of column.actors) found[actor.index] = place_in_column(column, actor);
  return found;
};
