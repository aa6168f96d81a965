// The page's controls.

const by_id = (id) => document.getElementById(id);

// -- dark and light -----------------------------------------------------------------------------------------------------------------

const system_dark = window.matchMedia("(prefers-color-scheme: dark)");
let theme = "system";
try { theme = localStorage.getItem("heddle-theme") || "system"; } catch { /* a page from a file may have no storage */ }
const apply_theme = () => {
  const dark = theme === "dark" || (theme === "system" && system_dark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  by_id("theme").textContent = `theme: ${theme}`;
  read_colours();
  redraw();
};
const next_theme = () => {
  theme = {system: "dark", dark: "light", light: "system"}[theme] || "system";
  try { localStorage.setItem("heddle-theme", theme); } catch { /* as above */ }
  apply_theme();
};

// -- moving about ---------------------------------------------------------------------------------------------------------------------

const bring_into_view = (row, centre) => {
  const y = view.head + row * view.row_height;
  const room = scroll.clientHeight - view.head;
  const margin = Math.min(60, room / 4);
  const above = scroll.scrollTop + view.head, below = scroll.scrollTop + scroll.clientHeight;
  if (y - margin < above || y + view.row_height + margin > below)
    scroll.scrollTop = centre ? y - view.head - room / 2
      : y - margin < above ? y - view.head - margin : y + view.row_height + margin - scroll.clientHeight;
};

/// Makes a step the selected one. One that the filters leave out is shown without them.
const select = (step, centre = false) => {
  if (step_count === 0) return;
  if (!is_shown(step)) {
    by_id("wave-filter").value = by_id("slot-filter").value = "-1";
    set_filters(-1, -1);
    resize();
  }
  view.selected = Math.max(0, Math.min(step_count - 1, step));
  view.frame = 0;
  by_id("goto").value = number_of(view.selected);
  bring_into_view(row_of(view.selected), centre);
  show_details();
  redraw();
};
const move = (rows) => {
  if (row_count() === 0) return;
  select(step_at(Math.max(0, Math.min(row_count() - 1, row_of(view.selected) + rows))));
};
/// To the actor's own next step, or the one before.
const move_within = (direction) => {
  const own = actor_of(view.selected).steps;
  const next = own[lower_bound(own, view.selected) + direction];
  if (next !== undefined) select(next);
};

const row_height_min = () => Math.max(0.001, (scroll.clientHeight - view.head - 4) / Math.max(1, row_count() + 1));
const zoom = (height, around = scroll.clientHeight / 2) => {
  const row = (scroll.scrollTop + around - view.head) / view.row_height;
  view.row_height = Math.max(Math.min(20, row_height_min()), Math.min(row_height_max, height));
  resize();
  scroll.scrollTop = row * view.row_height - around + view.head;
  redraw();
};

const filter = () => {
  set_filters(Number(by_id("wave-filter").value), Number(by_id("slot-filter").value));
  view.row_height = Math.max(view.row_height, Math.min(20, row_height_min()));
  resize();
  by_id("shown").textContent = view.rows === null ? `${step_count.toLocaleString("en")} steps`
    : `${row_count().toLocaleString("en")} of ${step_count.toLocaleString("en")} steps`;
  by_id("shown").dataset.rows = row_count();
  show_matches();
  if (row_count() !== 0) select(view.selected); else { show_details(); redraw(); }
};
const show_matches = () => {
  by_id("matches").textContent = view.matching === null ? "" : `${count_matches().toLocaleString("en")} found`;
};
const search = (jump) => {
  set_search(by_id("search").value);
  show_matches();
  if (view.matching !== null && jump && row_count() !== 0 && !is_match(view.selected)) select(next_match(1));
  redraw();
};
const toggle_lanes = (wave) => {
  if (view.lanes.has(wave.index)) view.lanes.delete(wave.index); else view.lanes.add(wave.index);
  resize();
  redraw();
};
const toggle_all_lanes = () => {
  const wide = waves.filter((wave) => wave.actors.length > 1);
  const all = wide.every((wave) => view.lanes.has(wave.index));
  view.lanes = new Set(all ? [] : wide.map((wave) => wave.index));
  by_id("lanes").setAttribute("aria-pressed", !all);
  resize();
  redraw();
};

// -- the mouse --------------------------------------------------------------------------------------------------------------------------

const column_at = (x) => view.columns.find((column) => x >= column.x && x < column.x + column.width);
const at_mouse = (event) => {
  const box = scroll.getBoundingClientRect();
  const x = event.clientX - box.left + scroll.scrollLeft, y = event.clientY - box.top;
  const row = Math.floor((y - view.head + scroll.scrollTop) / view.row_height);
  return {x, y, row, column: column_at(x), head: y < view.head};
};

const click = (event) => {
  const text = event.target.closest(".row");
  if (text) return select(index_of(Number(text.dataset.step)));
  const {row, column, head: in_head} = at_mouse(event);
  if (in_head) {
    if (!column) return;
    if (column.strip) {
      by_id("slot-filter").value = String(view.slot === column.strip.index ? -1 : column.strip.index);
      filter();
    } else if (event.shiftKey || column.wave.actors.length < 2) {
      by_id("wave-filter").value = String(view.wave === column.wave.index ? -1 : column.wave.index);
      filter();
    } else {
      toggle_lanes(column.wave);
    }
    return;
  }
  if (row < 0 || row >= row_count()) return;
  // Of the steps about here, the nearest of the column that was clicked.
  let best = row;
  if (column && column.actors) {
    const reach = Math.ceil(8 / view.row_height);
    for (let away = 0; away <= reach; ++away) {
      const near = [row - away, row + away].find((one) => one >= 0 && one < row_count() && column.actors.includes(actor_of(step_at(one))));
      if (near !== undefined) { best = near; break; }
    }
  }
  select(step_at(best));
};

const tip = by_id("tip");
const show_tip = (event) => {
  const {row, column, head: in_head} = at_mouse(event);
  let words = "";
  if (column && in_head)
    words = column.strip ? `${column.title}: click to see it alone` : column.wave.actors.length > 1 ? "click for its lanes, with Shift to see it alone" : "click to see it alone";
  else if (column && row >= 0 && row < row_count()) {
    const step = step_at(row);
    if (column.strip) words = `${column.title}: ${state_words(column.strip, strip_change_at(column.strip, step + 1))}`;
    else words = [...new Set(column.actors.map((actor) => `${actor.name} ${actor === actor_of(step) ? operation_of(step) : state_at(actor, step)[0]}`))].slice(0, 6).join("\n");
  }
  tip.hidden = words === "";
  if (tip.hidden) return;
  tip.textContent = words;
  const box = by_id("stage").getBoundingClientRect();
  tip.style.whiteSpace = "pre-wrap";
  tip.style.left = `${Math.min(event.clientX - box.left + 14, box.width - 300)}px`;
  tip.style.top = `${Math.min(event.clientY - box.top + 14, box.height - 60)}px`;
};

// -- the keyboard -------------------------------------------------------------------------------------------------------------------------

const keys = [
  [["ArrowDown", "j"], "step forward", () => move(1)],
  [["ArrowUp", "k"], "step back", () => move(-1)],
  [["ArrowRight"], "next step of the same one", () => move_within(1)],
  [["ArrowLeft"], "its step before", () => move_within(-1)],
  [["PageDown"], "a screen forward", () => move(Math.max(1, Math.floor((scroll.clientHeight - view.head) / view.row_height) - 2))],
  [["PageUp"], "a screen back", () => move(-Math.max(1, Math.floor((scroll.clientHeight - view.head) / view.row_height) - 2))],
  [["Home"], "first step", () => move(-step_count)],
  [["End"], "last step", () => move(step_count)],
  [["r"], "to the store that it reads", () => { if (read_from[view.selected] >= 0) select(read_from[view.selected], true); }],
  [["s"], "to who sees it first", () => { const seen = outgoing_flows(view.selected).filter((flow) => flow.seen !== never); if (seen.length) select(Math.min(...seen.map((flow) => flow.seen)), true); }],
  [["+", "="], "zoom in", () => zoom(view.row_height * 1.6)],
  [["-"], "zoom out", () => zoom(view.row_height / 1.6)],
  [["0"], "the whole run", () => zoom(0)],
  [["1"], "one line a step", () => { zoom(20); bring_into_view(row_of(view.selected), true); }],
  [["/"], "search", () => by_id("search").focus()],
  [["n"], "next that was found", () => select(next_match(1), true)],
  [["N"], "the one before", () => select(next_match(-1), true)],
  [["f"], "filter by wave", () => by_id("wave-filter").focus()],
  [["g"], "go to a step", () => by_id("goto").select()],
  [["e"], "lanes", toggle_all_lanes],
  [["t"], "dark or light", next_theme],
  [["Escape"], "no filter, no search", () => { by_id("wave-filter").value = by_id("slot-filter").value = "-1"; by_id("search").value = ""; search(false); filter(); }],
  [["?"], "this list", () => { by_id("help").hidden = !by_id("help").hidden; }],
];
const press = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (typing && event.key !== "Escape") return;
  const known = keys.find(([names]) => names.includes(event.key));
  if (!known) return;
  event.preventDefault();
  if (typing) event.target.blur();
  if (step_count !== 0 || event.key === "t" || event.key === "?") known[2]();
};

// -- what does not change ---------------------------------------------------------------------------------------------------------------

const fill_controls = () => {
  const option = (text, value) => element("option", text, {value: String(value)});
  by_id("wave-filter").append(option("all", -1));
  for (const wave of waves) if (wave.actors.some((actor) => actor.steps.length !== 0)) by_id("wave-filter").append(option(wave.name, wave.index));
  by_id("slot-filter").append(option("all", -1));
  for (const strip of strips) by_id("slot-filter").append(option(strip.name, strip.index));
  by_id("lanes").hidden = !waves.some((wave) => wave.actors.length > 1);
  for (const note of data.missing) by_id("missing").append(element("li", note));
  for (const [names, words] of keys) {
    const entry = document.createElement("div");
    for (const name of names) entry.append(element("kbd", name), " ");
    entry.append(words);
    by_id("help").append(entry);
  }
  const legend = by_id("legend");
  for (const [colour, words] of [["load", "load (a ring)"], ["store", "store (a square)"], ["modify", "read-modify-write, mutex"], ["ring", "doorbell"],
                                 ["fence", "fence"], ["together", "lanes together"], ["pause", "pause"], ["wait", "waits"], ["masked", "masked off"],
                                 ["flight", "store under way"], ["old", "old value read, store missed"], ["client", "client's"], ["server", "server's"]]) {
    const entry = element("span", "");
    const patch = element("b", "");
    patch.style.background = `var(--${colour})`;
    entry.append(patch, words);
    legend.append(entry);
  }
};

const fill_settings = () => {
  const table = by_id("setting-table");
  const all = by_id("all-settings").checked;
  table.replaceChildren(table_row(["key", "value", "default", "meaning"], "th"));
  for (const {key, value, default: initial, unit, help} of data.settings) {
    if (!all && value === initial) continue;
    const row = table_row([key, value + (unit ? ` ${unit}` : ""), initial, help]);
    row.classList.toggle("changed", value !== initial);
    table.append(row);
  }
  if (table.rows.length === 1) table.replaceChildren(table_row(["All settings have their defaults."]));
};

const begin = () => {
  fill_controls();
  fill_settings();
  draw_graph();
  apply_theme();
  resize();
  view.selected = Math.max(0, step_count - 1);
  if (judged_at !== never) view.selected = Math.max(0, Math.min(step_count, judged_at) - 1);
  filter();
  draw();
  by_id("theme").addEventListener("click", next_theme);
  system_dark.addEventListener("change", apply_theme);
  by_id("copy").addEventListener("click", () => navigator.clipboard && navigator.clipboard.writeText(by_id("command").textContent));
  for (const [id, action] of [["first", () => move(-step_count)], ["previous", () => move(-1)], ["next", () => move(1)], ["last", () => move(step_count)],
                              ["zoom-in", () => zoom(view.row_height * 1.6)], ["zoom-out", () => zoom(view.row_height / 1.6)], ["zoom-all", () => zoom(0)],
                              ["lanes", toggle_all_lanes], ["keys", () => { by_id("help").hidden = !by_id("help").hidden; }]])
    by_id(id).addEventListener("click", () => { if (step_count !== 0 || id === "keys") action(); });
  by_id("goto").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const wanted = Number(event.target.value.replaceAll(",", ""));
    if (Number.isFinite(wanted)) select(index_of(Math.max(data.first_step, Math.min(number_of(step_count - 1), wanted))), true);
  });
  by_id("search").addEventListener("input", () => search(false));
  by_id("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    search(false);
    if (view.matching !== null && row_count() !== 0) select(next_match(event.shiftKey ? -1 : 1), true);
  });
  by_id("wave-filter").addEventListener("change", filter);
  by_id("slot-filter").addEventListener("change", filter);
  by_id("all-settings").addEventListener("change", fill_settings);
  scroll.addEventListener("scroll", redraw, {passive: true});
  scroll.addEventListener("click", click);
  scroll.addEventListener("mousemove", show_tip);
  scroll.addEventListener("mouseleave", () => { tip.hidden = true; });
  scroll.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(view.row_height * Math.exp(-event.deltaY / 300), event.clientY - scroll.getBoundingClientRect().top);
  }, {passive: false});
  document.addEventListener("keydown", press);
  new ResizeObserver(() => { resize(); redraw(); }).observe(scroll);
  document.documentElement.dataset.ready = performance.now().toFixed(0); // in ms since the page was asked for
};
begin();
