// The picture: what is in view, and nothing else, on one canvas; its texts are rows of the document beside it.

const scroll = document.getElementById("scroll");
const canvas = document.getElementById("canvas");
const rows_box = document.getElementById("rows");
const heads_box = document.getElementById("heads");
let paint = canvas.getContext("2d", {alpha: false}); // or what makes an SVG of it (map.js)
let colours = {};
let shown_box = {width: 0, height: 0};

const read_colours = () => {
  const style = getComputedStyle(document.documentElement);
  colours = {};
  for (const name of ["back", "raised", "line", "text", "faint", "link", "select", "match", "load", "store", "modify", "ring", "fence", "pause",
                      "together", "other", "life", "wait", "wait-edge", "masked", "flow", "flow-strong", "flight", "old", "client", "server",
                      "locked", "word", "bad"])
    colours[name] = style.getPropertyValue(`--${name}`).trim();
};
const colour_of = (letter) => colours[{r: "load", w: "store", m: "modify", n: "ring", f: "fence", p: "pause", c: "together", b: "together", x: "modify"}[letter] || "other"];

const y_of_row = (row) => view.head + line_of_row(row) * view.row_height - scroll.scrollTop;
/// Of what holds from that rank on: behind the row of what is before it.
const y_behind = (rank) => {
  if (view.lines === null || rank <= 0) return y_of_row(row_of_rank(Math.max(0, rank)));
  const row = row_of_rank(rank - 1);
  const is_there = row < row_count() && rank_of(step_at(row)) < rank;
  return y_of_row(row) + (is_there ? view.row_height : 0);
};

/// Fits the picture into its box, and the scrollbars to the run.
const resize = () => {
  const width = scroll.clientWidth, height = scroll.clientHeight;
  const ratio = window.devicePixelRatio || 1;
  if (shown_box.width !== width || shown_box.height !== height || canvas.width !== Math.round(width * ratio)) {
    shown_box = {width, height};
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  lay_out_columns(width);
  const space = document.getElementById("space");
  space.style.height = `${Math.max(1, Math.ceil(view.head + (line_count() + 1) * view.row_height))}px`;
  space.style.width = `${view.text_x + (view.row_height >= text_from ? text_width : 20)}px`;
};

let frame_asked = false;
const redraw = () => {
  if (frame_asked) return;
  frame_asked = true;
  requestAnimationFrame(() => { frame_asked = false; draw(); });
};

const rows_in_view = () => [Math.max(0, row_of_line(scroll.scrollTop / view.row_height) - 1),
                            Math.min(row_count(), row_of_line(Math.ceil((scroll.scrollTop + shown_box.height) / view.row_height)) + 1)];
/// Ranks of the rows from the first one to behind the last one.
const ranks_of_rows = (first, last) => [first, last].map((row) => row < row_count() ? rank_of(step_at(row)) : end_row);

const draw = () => {
  const left = scroll.scrollLeft;
  draw_picture();
  fill_heads(left);
  fill_rows(...rows_in_view(), left);
  draw_map();
};

const draw_picture = () => {
  const {width, height} = shown_box;
  const left = scroll.scrollLeft;
  const [first, last] = rows_in_view();
  paint.fillStyle = colours.back;
  paint.fillRect(0, 0, width, height);
  paint.save();
  paint.translate(-left, 0);
  draw_marks(first, last, width + left);
  const x_of = positions();
  draw_lives(first, last);
  draw_strips(first, last);
  draw_flights(first, last, x_of);
  draw_flows(first, last, x_of);
  draw_steps(first, last, x_of);
  draw_cuts(first, last, width + left);
  draw_certain();
  draw_numbers(first, last);
  draw_head(width + left);
  paint.restore();
};

const draw_marks = (first, last, width) => {
  if (row_count() === 0) return;
  const row = row_of(view.selected);
  paint.fillStyle = colours.select;
  paint.fillRect(0, y_of_row(row), width, Math.max(2, view.row_height));
  if (view.matching !== null) {
    paint.fillStyle = colours.match;
    let y_last = -10;
    for (let n = first; n < last; ++n) {
      const y = y_of_row(n);
      if (!is_match(step_at(n)) || y - y_last < 1) continue;
      y_last = y;
      paint.fillRect(0, y, view.axis - 2, Math.max(1, view.row_height));
    }
  }
  if (judged_at !== never) {
    const y = y_behind(axis.judged);
    paint.strokeStyle = colours.bad;
    paint.setLineDash([8, 4]);
    line(0, y, width, y);
    paint.setLineDash([]);
  }
};

const draw_certain = () => {
  if (row_count() === 0 || judged_at === never) return;
  const y = y_behind(axis.judged);
  paint.fillStyle = colours.back;
  paint.fillRect(view.axis + 2, y - 14, 106, 13);
  paint.fillStyle = colours.bad;
  paint.font = "11px system-ui, sans-serif";
  paint.fillText("the hang is certain", view.axis + 5, y - 4);
};

const line = (x0, y0, x1, y1) => {
  paint.beginPath();
  paint.moveTo(x0, y0);
  paint.lineTo(x1, y1);
  paint.stroke();
};

/// From when to when an actor is there, and the times in which it waits.
const draw_lives = (first, last) => {
  const [from_rank, to_rank] = ranks_of_rows(first, last);
  const bottom = y_of_row(row_count());
  for (const column of view.columns) {
    if (!column.actors) continue;
    const lanes = Math.max(1, column.actors.length);
    const own = lanes === 1 ? Math.min(18, column.width - 6) : (column.width - 8) / lanes;
    if (!column.wave.host && (column.actors.length === 0 || column.actors[0].begun > Math.max(0, index_of(column.wave.launched) + 1))) {
      const until = column.actors.length === 0 ? bottom : y_behind(rank_behind(column.actors[0].begun));
      paint.strokeStyle = colours.life;
      paint.setLineDash([1, 4]);
      line(column.x + column.width / 2, y_behind(rank_behind(Math.max(0, index_of(column.wave.launched) + 1))), column.x + column.width / 2, until);
      paint.setLineDash([]);
    }
    for (const actor of column.actors) {
      if (!has_life(actor)) continue;
      const x = place_in_column(column, actor);
      const top = Math.max(view.head - 2, y_behind(rank_behind(actor.begun)));
      const low = Math.min(shown_box.height + 2, actor.ended === never ? bottom : y_behind(rank_behind(actor.ended)));
      paint.strokeStyle = colours.life;
      paint.lineWidth = 1;
      if (low > top) line(x, top, x, low);
      let y_done = -10;
      for (let n = Math.max(0, lower_bound(actor.waits, from_rank, (wait) => wait.from_rank) - 1); n < actor.waits.length; ++n) {
        const wait = actor.waits[n];
        if (wait.from_rank > to_rank) break;
        if (wait.to !== never && wait.to_rank < from_rank) continue;
        const y0 = Math.max(view.head - 4, y_behind(wait.from_rank));
        const y1 = Math.min(shown_box.height + 4, wait.to === never ? bottom : y_behind(wait.to_rank));
        if (y1 <= y0 || y1 <= y_done) continue;
        paint.fillStyle = wait.why === "masked off" ? colours.masked : colours.wait;
        paint.fillRect(x - own / 2, Math.max(y0, y_done), Math.max(1, own), Math.max(0.7, y1 - Math.max(y0, y_done)));
        if (wait.why !== "masked off" && y1 - y0 > 3 && own > 3) {
          paint.fillStyle = colours["wait-edge"];
          paint.fillRect(x - own / 2, y0, 1.5, y1 - y0);
        }
        y_done = y1;
      }
    }
  }
};

const draw_strips = (first, last) => {
  const bottom = Math.min(shown_box.height, y_of_row(row_count()));
  const [from_rank, to_rank] = ranks_of_rows(first, last);
  paint.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
  for (const column of view.columns) {
    if (!column.strip) continue;
    const strip = column.strip;
    let change = lower_bound(strip.ranks, from_rank + 1) - 1;
    let y = Math.max(view.head, y_behind(change < 0 ? 0 : strip.ranks[change]));
    while (y < bottom) {
      const next = change + 1 < strip.ranks.length && strip.ranks[change + 1] <= to_rank ? Math.max(y, y_behind(strip.ranks[change + 1])) : bottom;
      if (next - y > 0.2) draw_state(column, strip, change, y, Math.min(next, bottom) - y);
      if (next >= bottom) break;
      y = Math.max(view.head, next);
      ++change;
    }
  }
};

// Of a port: both outboxes, whose it is, both locks.
const draw_state = (column, strip, change, y, height) => {
  const state = change < 0 ? 0 : strip.changes[change][1];
  if (strip.kind === "word") {
    paint.fillStyle = change < 0 ? colours.raised : colours.word;
    paint.fillRect(column.x, y, column.width, height - (height > 6 ? 1 : 0));
    if (height >= 10) {
      paint.fillStyle = colours.text;
      paint.fillText((change < 0 ? "-" : texts[state]).slice(0, 7), column.x + 3, y + 10);
    }
    return;
  }
  const bar = (x, width, on, colour) => {
    paint.fillStyle = on ? colour : colours.raised;
    paint.fillRect(column.x + x, y, width, height);
  };
  const client = (state & 1) !== 0, server = (state & 2) !== 0;
  bar(0, 7, client, colours.client);
  bar(8, 7, server, colours.server);
  const idle = strip.kind === "slot" && !client && !server;
  const is_server = strip.kind === "slot" ? client !== server : client !== server;
  bar(16, 10, !idle, is_server ? colours.server : colours.client);
  bar(27, 5, (state & 4) !== 0, colours.locked);
  bar(33, 5, (state & 8) !== 0, colours.locked);
};

/// Stores and rings between being made and being in memory.
const draw_flights = (first, last, x_of) => {
  if (late_stores.size === 0) return;
  const [from_rank, to_rank] = ranks_of_rows(first, last);
  for (const [step, arrived] of late_stores) {
    const end = arrived === never ? end_row : Math.max(rank_of(step) + 1, rank_behind(arrived + 1));
    if (rank_of(step) > to_rank || end <= from_rank || !is_shown(step)) continue;
    const x = x_of[actor_of(step).index];
    const y0 = y_of_row(row_of(step)) + view.row_height / 2;
    const y1 = arrived === never ? y_of_row(row_count()) : y_behind(end);
    paint.strokeStyle = colours.flight;
    paint.globalAlpha = 0.75;
    paint.lineWidth = 3;
    paint.setLineDash(arrived === never ? [2, 4] : []);
    line(x + 6, Math.max(view.head, y0), x + 6, Math.min(shown_box.height, Math.max(y1, y0 + 2)));
    paint.setLineDash([]);
    paint.globalAlpha = 1;
    paint.lineWidth = 1;
  }
};

const arrows_most = 1500;

const draw_flows = (first, last, x_of) => {
  const mine = new Set(step_count ? outgoing_flows(view.selected) : []);
  const source = step_count ? read_from[view.selected] : -1;
  const draw_one = (flow, strong) => {
    if (!is_shown(flow.store)) return;
    const x0 = x_of[actor_of(flow.store).index], y0 = y_of_row(row_of(flow.store)) + view.row_height / 2;
    const end = (step, missed) => {
      if (step === never || !is_shown(step)) return;
      const x1 = x_of[actor_of(step).index], y1 = y_of_row(row_of(step)) + view.row_height / 2;
      if (Math.max(y0, y1) < view.head || Math.min(y0, y1) > shown_box.height) return;
      paint.strokeStyle = paint.fillStyle = missed ? colours.old : strong ? colours["flow-strong"] : colours.flow;
      paint.lineWidth = strong ? 2 : 1;
      const arrived = late_stores.get(flow.store);
      if (missed) {
        paint.setLineDash([3, 4]);
        line(x0, y0, x1, y1);
      } else if (arrived !== undefined && arrived !== never) {
        // As long as it was under way, dashed.
        const part = Math.min(1, Math.max(0, (y_behind(rank_behind(arrived + 1)) - y0) / Math.max(1, y1 - y0)));
        paint.setLineDash([5, 4]);
        line(x0, y0, x0 + (x1 - x0) * part, y0 + (y1 - y0) * part);
        paint.setLineDash([]);
        line(x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, x1, y1);
      } else {
        line(x0, y0, x1, y1);
      }
      paint.setLineDash([]);
      if (view.row_height >= 6) head(x0, y0, x1, y1, missed);
      paint.lineWidth = 1;
    };
    end(flow.missed, true);
    end(flow.seen, false);
  };
  if (view.row_height >= 1.5 && last > first) {
    const wanted = new Set(axis.arrows.wide);
    const to = Math.floor(rank_of(step_at(Math.max(first, last - 1))) / block_steps);
    for (let block = Math.floor(rank_of(step_at(first)) / block_steps); block <= to && wanted.size < arrows_most; ++block)
      for (const n of axis.arrows.blocks[block] || []) wanted.add(n);
    if (wanted.size < arrows_most) for (const n of wanted) if (!mine.has(flows[n])) draw_one(flows[n], false);
  }
  for (const flow of mine) draw_one(flow, true);
  if (source >= 0) draw_one({store: source, seen: view.selected, missed: never}, true);
};

const head = (x0, y0, x1, y1, missed) => {
  const angle = Math.atan2(y1 - y0, x1 - x0), size = 6;
  const tip_x = x1 - Math.cos(angle) * 4, tip_y = y1 - Math.sin(angle) * 4;
  if (missed) {
    line(tip_x - 3, tip_y - 3, tip_x + 3, tip_y + 3);
    line(tip_x + 3, tip_y - 3, tip_x - 3, tip_y + 3);
    return;
  }
  paint.beginPath();
  paint.moveTo(tip_x, tip_y);
  paint.lineTo(tip_x - size * Math.cos(angle - 0.5), tip_y - size * Math.sin(angle - 0.5));
  paint.lineTo(tip_x - size * Math.cos(angle + 0.5), tip_y - size * Math.sin(angle + 0.5));
  paint.fill();
};

const draw_steps = (first, last, x_of) => {
  if (view.row_height < 3) return draw_crowd(first, last, x_of);
  const size = Math.min(5, Math.max(1.5, view.row_height / 3));
  for (let row = first; row < last; ++row) {
    const step = step_at(row);
    const x = x_of[actor_of(step).index];
    const fold = folded.get(step);
    if (fold) {
      paint.fillStyle = colours.pause;
      for (const actor of folded_actors(step, fold)) dots(x_of[actor], y_of_row(row) + view.row_height / 2, size);
    } else if (x >= 0) {
      draw_step(step, x, y_of_row(row) + view.row_height / 2, size);
    }
  }
};

/// Who steps in a fold.
const folded_actors = (first, fold) => {
  if (!fold.actors) {
    const found = new Set();
    for (let rank = rank_of(first); rank <= rank_of(fold.last); ++rank) if (is_filtered(step_of_rank(rank))) found.add(actor_of(step_of_rank(rank)).index);
    fold.actors = [...found];
  }
  return fold.actors;
};
const dots = (x, y, size) => {
  if (x >= 0) for (const away of [-size, 0, size]) paint.fillRect(x - 1, y + away - 1, 2, 2);
};

const draw_step = (step, x, y, size) => {
  const letter = letter_of(step);
  const colour = old_reads.has(step) ? colours.old : colour_of(letter);
  paint.fillStyle = paint.strokeStyle = colour;
  paint.lineWidth = 1.5;
  if (letter === "r") {
    paint.beginPath();
    paint.arc(x, y, size, 0, 2 * Math.PI);
    paint.fillStyle = colours.back;
    paint.fill();
    paint.stroke();
  } else if (letter === "w") {
    paint.fillRect(x - size, y - size, 2 * size, 2 * size);
  } else if (letter === "m" || letter === "x") {
    paint.beginPath();
    paint.moveTo(x, y - size * 1.3);
    paint.lineTo(x + size * 1.3, y);
    paint.lineTo(x, y + size * 1.3);
    paint.lineTo(x - size * 1.3, y);
    paint.fill();
  } else if (letter === "n") {
    paint.beginPath();
    paint.moveTo(x, y - size);
    paint.lineTo(x + size, y + size);
    paint.lineTo(x - size, y + size);
    paint.closePath();
    if (lost_rings.has(step)) paint.stroke(); else paint.fill();
  } else if (letter === "f" || letter === "b") {
    paint.fillRect(x - size * 1.8, y - size / 3, size * 3.6, Math.max(1.5, size * 0.66));
  } else {
    paint.beginPath();
    paint.arc(x, y, letter === "p" ? size * 0.5 : size * 0.8, 0, 2 * Math.PI);
    paint.fill();
  }
  paint.lineWidth = 1;
};

/// Several steps in a line of pixels: one mark for each who steps there; a store is worth more than a load.
const draw_crowd = (first, last, x_of) => {
  const rank = {p: 1, r: 2, c: 3, b: 3, f: 4, s: 4, x: 5, n: 6, m: 6, w: 7};
  const lines = Math.ceil(shown_box.height) + 2;
  const best = new Uint8Array(lines * actors.length);
  const letters = new Array(lines * actors.length);
  for (let row = first; row < last; ++row) {
    const step = step_at(row);
    const y = Math.floor(y_of_row(row));
    if (y < view.head || y >= lines) continue;
    const sort = sorts[step_sort[step]];
    const at = y * actors.length + sort[0];
    const worth = rank[sort[2]] || 1;
    if (worth <= best[at]) continue;
    best[at] = worth;
    letters[at] = sort[2];
  }
  for (let at = 0; at < best.length; ++at) {
    if (best[at] === 0) continue;
    const x = x_of[at % actors.length];
    if (x < 0) continue;
    paint.fillStyle = colour_of(letters[at]);
    paint.fillRect(x - 4, Math.floor(at / actors.length), 8, Math.max(1, view.row_height));
  }
};

const draw_numbers = (first, last) => {
  paint.fillStyle = colours.faint;
  paint.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
  paint.textAlign = "right";
  if (axis.is_time) {
    draw_times(first, last);
    paint.textAlign = "left";
    return;
  }
  const every = view.row_height >= 12 ? 1 : Math.pow(10, Math.ceil(Math.log10(18 / view.row_height)));
  for (let row = Math.ceil(first / every) * every; row < last; row += every) {
    const y = y_of_row(row);
    paint.fillText(number_of(step_at(row)).toLocaleString("en"), 52, y + Math.min(view.row_height / 2, 10) + 4);
  }
  paint.textAlign = "left";
};

/// A time that several rows have is told once.
const draw_times = (first, last) => {
  let y_last = -20, told = -1;
  for (let row = first; row < last; ++row) {
    const y = y_of_row(row), time = times[step_at(row)];
    if (time === told || y - y_last < 12) continue;
    paint.fillText(time.toLocaleString("en"), view.axis - 6, y + Math.min(view.row_height / 2, 10) + 4);
    [y_last, told] = [y, time];
  }
};

/// Where more time passes between two rows than there is room for.
const draw_cuts = (first, last, width) => {
  if (view.lines === null || view.row_height * gap_most < 24) return;
  for (let row = first; row < Math.min(last, row_count() - 1); ++row) {
    if (line_of_row(row + 1) - line_of_row(row) - 1 < gap_most - 1e-6) continue;
    const y = y_of_row(row) + view.row_height * (1 + gap_most / 2);
    paint.strokeStyle = colours.faint;
    paint.setLineDash([2, 6]);
    line(view.axis, y, width, y);
    paint.setLineDash([]);
    const words = `${ns_words(times[step_at(row + 1)] - times[step_at(row)])} pass`;
    paint.font = "11px system-ui, sans-serif";
    paint.fillStyle = colours.back;
    paint.fillRect(view.text_x, y - 7, words.length * 7, 14);
    paint.fillStyle = colours.faint;
    paint.fillText(words, view.text_x + 4, y + 4);
  }
};

const draw_head = (width) => {
  paint.fillStyle = colours.raised;
  paint.fillRect(0, 0, width, view.head);
  paint.strokeStyle = colours.line;
  line(0, view.head - 0.5, width, view.head - 0.5);
  if (!axis.is_time) return;
  paint.fillStyle = colours.faint;
  paint.font = "11px system-ui, sans-serif";
  paint.textAlign = "right";
  paint.fillText("ns", view.axis - 6, view.head - 6);
  paint.textAlign = "left";
};

/// Titles are elements beside the picture, so that they can be read aloud and measured.
const fill_heads = (left) => {
  heads_box.style.height = `${view.head}px`;
  heads_box.style.width = `${shown_box.width}px`;
  while (heads_box.children.length < view.columns.length) heads_box.append(document.createElement("span"));
  [...heads_box.children].forEach((title, n) => {
    const column = view.columns[n];
    title.hidden = column === undefined || column.x - left > shown_box.width;
    if (title.hidden) return;
    title.className = column.turned ? "turned" : "";
    title.classList.toggle("chosen", column.actors ? column.wave.index === view.wave : column.strip.index === view.slot);
    title.style.left = `${column.x - left + (column.turned ? (column.width - 14) / 2 : 2)}px`;
    const shown = `${column.title}${column.turned}`;
    if (title.dataset.shown === shown) return;
    title.dataset.shown = shown;
    title.dataset.title = column.title;
    title.replaceChildren(column.label);
    if (!column.turned && column.actors && column.actors.length > 1) title.append(element("i", `${column.actors.length} lanes`));
  });
};

// -- the texts ------------------------------------------------------------------------------------------------------------------------

const row_pool = [];
const make_row = () => {
  const row = document.createElement("div");
  row.className = "row";
  for (const name of ["actor", "what", "place", "value", "at"]) {
    const cell = document.createElement("span");
    cell.className = name;
    row.append(cell);
  }
  rows_box.append(row);
  return row;
};

const fill_rows = (first, last, left) => {
  const with_text = view.row_height >= text_from;
  rows_box.style.display = with_text ? "" : "none";
  if (!with_text) return;
  rows_box.style.left = `${view.text_x - left}px`;
  rows_box.style.width = `${Math.max(0, Math.max(text_width, shown_box.width - view.text_x + left))}px`;
  rows_box.style.top = `${view.head}px`;
  rows_box.style.height = `${Math.max(0, shown_box.height - view.head)}px`;
  const count = Math.max(0, last - first);
  while (row_pool.length < count) row_pool.push(make_row());
  row_pool.forEach((row, n) => {
    if (n >= count) { row.style.display = "none"; return; }
    const step = step_at(first + n);
    row.style.display = "";
    row.style.height = `${view.row_height}px`;
    row.style.transform = `translateY(${y_of_row(first + n) - view.head}px)`;
    row.classList.toggle("selected", step === view.selected);
    row.classList.toggle("match", is_match(step));
    const fold = folded.get(step);
    if (row.dataset.step === String(number_of(step)) && (row.dataset.folds || "") === String(fold ? fold.count : "")) return;
    row.dataset.step = number_of(step);
    row.dataset.folds = fold ? fold.count : "";
    row.classList.toggle("folds", fold !== undefined);
    const [who, what, place, value, at] = row.children;
    if (fold) {
      const names = folded_actors(step, fold).map((actor) => actors[actor].name);
      who.textContent = names.length <= 1 ? names[0] : `${names.length} threads`;
      who.title = names.slice(0, 20).join(", ");
      what.textContent = `... ${fold.count.toLocaleString("en")} steps`;
      what.className = "what p";
      what.title = "click to see each of them";
      place.textContent = "as before";
      place.title = value.textContent = "";
      value.className = "value";
      at.title = where_of(step);
      at.textContent = at.title.slice(at.title.lastIndexOf("/") + 1);
      return;
    }
    who.textContent = who.title = actor_of(step).name;
    what.textContent = short_operation_of(step);
    what.title = operation_of(step);
    what.className = `what ${letter_of(step)}`;
    place.textContent = short_place_of(step);
    place.title = place_of(step);
    const odd = old_reads.has(step) || stores_behind.has(step) ? " (old)" : lost_rings.has(step) ? " (lost)" : odd_steps.has(step) ? " (odd)" : "";
    value.textContent = value_of(step) + odd;
    value.className = odd ? "value old" : "value";
    at.title = where_of(step);
    at.textContent = at.title.slice(at.title.lastIndexOf("/") + 1);
  });
};
