// What is shown of the run, and where: rows are the steps that the filters leave, columns the waves and slots.

const view = {
  rows: null,        // steps, in order; null: all of them
  row_height: 20,    // in pixels; below `text_from` there is no text
  wave: -1,          // index, or -1 for all
  slot: -1,
  lanes: new Set(),  // waves that are shown lane by lane
  selected: 0,       // a step
  frame: 0,          // of the selected step's calls
  needle: "",
  matching: null,    // by sort
  columns: [],       // {x, width, title, actors} and {x, width, title, strip}
  text_x: 0,
  head: 40,
};
const text_from = 13;
const row_height_max = 40;

const row_count = () => view.rows === null ? step_count : view.rows.length;
const step_at = (row) => view.rows === null ? row : view.rows[row];
/// The row of the step, or of the next one that is shown.
const row_of = (step) => view.rows === null ? step : lower_bound(view.rows, step);
const is_shown = (step) => view.rows === null || view.rows[lower_bound(view.rows, step)] === step;

const set_filters = (wave, slot) => {
  view.wave = wave;
  view.slot = slot;
  if (wave < 0 && slot < 0) {
    view.rows = null;
  } else {
    const places = slot < 0 ? null : new Set(strips[slot].places);
    const wanted = Uint8Array.from(sorts, ([actor, , , place]) =>
      (wave < 0 || actors[actor].wave === wave) && (places === null || places.has(place)) ? 1 : 0);
    const rows = [];
    for (let step = 0; step < step_count; ++step) if (wanted[step_sort[step]]) rows.push(step);
    view.rows = Int32Array.from(rows);
  }
  if (row_count() !== 0 && !is_shown(view.selected)) view.selected = step_at(Math.min(row_of(view.selected), row_count() - 1));
};

/// Which sorts of steps have all words of the search in them.
const set_search = (needle) => {
  view.needle = needle.trim().toLowerCase();
  if (view.needle === "") { view.matching = null; return; }
  const words = view.needle.split(/\s+/);
  view.matching = Uint8Array.from(sorts, ([actor, operation, , place, , value, calls]) => {
    const lines = calls === null ? [] : data.calls[calls];
    const all = [actors[actor].name, texts[operation], place_name(place), value === null ? "" : texts[value],
                 ...lines.map((line) => `${line_name(line)} ${line[2]}`)].join(" ").toLowerCase();
    return words.every((word) => all.includes(word)) ? 1 : 0;
  });
};
const is_match = (step) => view.matching !== null && view.matching[step_sort[step]] === 1;
const count_matches = () => {
  let count = 0;
  if (view.matching !== null) for (let row = 0; row < row_count(); ++row) count += view.matching[step_sort[step_at(row)]];
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

const lay_out_columns = (width) => {
  view.columns = [];
  const shown = waves.filter((wave) => wave.actors.some(has_life) || (!wave.placed && !wave.ended));
  let count = 0;
  for (const wave of shown) count += view.lanes.has(wave.index) ? wave.actors.length : 1;
  const each = Math.max(22, Math.min(92, Math.floor(width * 0.38 / Math.max(1, count))));
  let x = 58;
  for (const wave of shown) {
    if (view.lanes.has(wave.index)) {
      for (const actor of wave.actors) {
        view.columns.push({x, width: each, title: actor.name, wave, actors: [actor]});
        x += each;
      }
    } else {
      view.columns.push({x, width: each, title: wave.name, wave, actors: wave.actors});
      x += each;
    }
  }
  x += 8;
  const wanted = view.slot >= 0 ? [strips[view.slot]] : strips.slice(0, strips.some((strip) => strip.kind !== "word") ? 12 : 6);
  for (const strip of wanted) {
    const own = strip.kind === "word" ? 52 : 40;
    view.columns.push({x, width: own, title: strip.name, strip});
    x += own + 4;
  }
  view.text_x = x + 6;
};

/// Where an actor's steps stand in its column.
const place_in_column = (column, actor) => column.actors.length === 1 ? column.x + column.width / 2
  : column.x + 4 + (column.width - 8) * (column.actors.indexOf(actor) + 0.5) / column.actors.length;
const positions = () => {
  const found = new Float64Array(actors.length).fill(-1);
  for (const column of view.columns) if (column.actors) for (const actor of column.actors) found[actor.index] = place_in_column(column, actor);
  return found;
};
