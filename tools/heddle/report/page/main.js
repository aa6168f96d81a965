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
  const y = view.head + line_of_row(row) * view.row_height;
  const room = scroll.clientHeight - view.head;
  const margin = Math.min(60, room / 4);
  const above = scroll.scrollTop + view.head, below = scroll.scrollTop + scroll.clientHeight;
  if (y - margin < above || y + view.row_height + margin > below)
    scroll.scrollTop = centre ? y - view.head - room / 2
      : y - margin < above ? y - view.head - margin : y + view.row_height + margin - scroll.clientHeight;
};

/// Makes a step the selected one. Its fold is opened; one that the filters leave out is shown without them.
const select = (step, centre = false) => {
  if (step_count === 0) return;
  if (!is_shown(step)) open_fold(step);
  if (!is_shown(step)) {
    by_id("wave-filter").value = by_id("slot-filter").value = "-1";
    set_filters(-1, -1);
    open_fold(step);
    resize();
    show_counts();
  }
  view.selected = Math.max(0, Math.min(step_count - 1, step));
  view.frame = -1;
  by_id("goto").value = number_of(view.selected);
  bring_into_view(row_of(view.selected), centre);
  show_details();
  redraw();
  link_to(view.selected);
};
/// The address of the page names the step and the axis, so that it can be sent to others.
const link_to = (step) => {
  try { history.replaceState(null, "", `#step=${number_of(step)}${axis.is_time ? "&axis=time" : ""}`); } catch { /* where a page may not have one */ }
};
/// Goes to the step that the address names; false where it names none.
const follow_link = (hash) => {
  const [, number, along_time] = /^#step=(\d+)(&axis=time)?$/.exec(hash) || [];
  if (number === undefined || step_count === 0) return false;
  if (axis.is_time !== (along_time !== undefined && has_times)) toggle_axis();
  select(index_of(Math.max(data.first_step, Math.min(number_of(step_count - 1), Number(number)))), true);
  by_id("run").scrollIntoView({block: "start"});
  return true;
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

const row_height_min = () => Math.max(0.001, (scroll.clientHeight - view.head - 4) / Math.max(1, line_count() + 1));
const zoom = (height, around = scroll.clientHeight / 2) => {
  const line_there = (scroll.scrollTop + around - view.head) / view.row_height;
  view.row_height = Math.max(Math.min(20, row_height_min()), Math.min(row_height_max, height));
  resize();
  scroll.scrollTop = line_there * view.row_height - around + view.head;
  redraw();
};

const filter = () => {
  set_filters(Number(by_id("wave-filter").value), Number(by_id("slot-filter").value));
  view.row_height = Math.max(view.row_height, Math.min(20, row_height_min()));
  resize();
  show_counts();
  show_matches();
  if (row_count() !== 0) select(view.selected); else { show_details(); redraw(); }
};
const show_counts = () => {
  const left = view.filtered === null ? step_count : view.filtered.length;
  by_id("shown").textContent = (left === step_count ? "" : `${left.toLocaleString("en")} of `) + `${step_count.toLocaleString("en")} steps` +
    (folded.size === 0 ? "" : ` in ${row_count().toLocaleString("en")} rows`);
  by_id("shown").dataset.steps = left;
  by_id("shown").dataset.rows = row_count();
};
/// Opens the fold that the step is in, if it is in one.
const open_fold = (step) => {
  if (!unfold(step)) return;
  resize();
  show_counts();
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
const toggle_folds = () => {
  view.folds = !view.folds;
  view.unfolded.clear();
  by_id("folds").setAttribute("aria-pressed", view.folds);
  const step = view.selected;
  filter();
  select(step, true);
};
/// Steps in the order of the schedule, or along virtual time, where there is one.
const toggle_axis = () => {
  if (!has_times) return;
  const step = view.selected;
  set_axis(!axis.is_time);
  view.unfolded.clear();
  by_id("axis").setAttribute("aria-pressed", axis.is_time);
  filter();
  select(step, true);
};
const toggle_alike = () => {
  view.alike = !view.alike;
  view.spread.clear();
  by_id("alike").setAttribute("aria-pressed", view.alike);
  resize();
  redraw();
};
const show_help = (shown) => {
  by_id("help").hidden = !shown;
  by_id("keys").setAttribute("aria-expanded", shown);
  if (shown) by_id("close-help").focus(); else scroll.focus({preventScroll: true});
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
  const row = row_of_line((y - view.head + scroll.scrollTop) / view.row_height);
  return {x, y, row, column: column_at(x), head: y < view.head};
};

/// A row that was clicked: one that stands for several opens.
const choose = (step) => {
  if (folded.has(step)) open_fold(step);
  select(step);
};

const click = (event) => {
  const text = event.target.closest(".row");
  if (text) return choose(index_of(Number(text.dataset.step)));
  const {row, column, head: in_head} = at_mouse(event);
  if (in_head) {
    if (!column) return;
    if (column.strip) {
      by_id("slot-filter").value = String(view.slot === column.strip.index ? -1 : column.strip.index);
      filter();
    } else if (column.group) {
      view.spread.add(column.group[0].index);
      resize();
      redraw();
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
  choose(step_at(best));
};

const tip = by_id("tip");
const show_tip = (event) => {
  const {row, column, head: in_head} = at_mouse(event);
  let words = "";
  if (column && in_head)
    words = column.group ? `${column.group.length} waves that behave alike: they come by the same lines in the same order and end alike; click to see each`
      : column.strip ? `${column.title}: click to see it alone` : column.wave.actors.length > 1 ? "click for its lanes, with Shift to see it alone" : "click to see it alone";
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
  [["s"], "to what sees it first", () => { const seen = outgoing_flows(view.selected).filter((flow) => flow.seen !== never); if (seen.length) select(Math.min(...seen.map((flow) => flow.seen)), true); }],
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
  [["z"], "fold what brings nothing new, or not", toggle_folds],
  [["a"], "waves that behave alike in one column, or not", toggle_alike],
  ...(has_times ? [[["v"], "virtual time as the axis, or steps", toggle_axis]] : []),
  [["Enter"], "open a fold", () => { if (folded.has(view.selected)) choose(view.selected); }],
  [["x"], "the picture as a file of SVG", save_picture],
  [["t"], "dark or light", next_theme],
  [["Escape"], "close this list; no filter, no search", () => {
    if (!by_id("help").hidden) { show_help(false); return; }
     by_id("wave-filter").value = by_id("slot-filter").value = "-1"; by_id("search").value = ""; search(false); filter(); }],
  [["?"], "this list", () => show_help(by_id("help").hidden)],
];
const press = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (typing && event.key !== "Escape") return;
  if (event.key === "Enter" && event.target.matches("button, a, summary, .node")) return;
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
  by_id("alike").hidden = wave_groups.size === 0;
  by_id("axis").hidden = !has_times;
  for (const note of data.missing) by_id("missing").append(element("li", note));
  for (const [names, words] of keys) {
    const entry = document.createElement("div");
    for (const name of names) entry.append(element("kbd", name), " ");
    entry.append(words);
    by_id("help").append(entry);
  }
  fill_legend();
};

/// A mark as the picture has it.
const mark_of = (shape, colour) => {
  const svg = svg_node("svg", {width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true"});
  const paths = {square: "M-4-4H4V4H-4Z", diamond: "M0-6L6 0 0 6-6 0Z", triangle: "M0-5L5 5H-5Z", bar: "M-6-2H6V2H-6Z", patch: "M-6-6H6V6H-6Z", dots: "M-1-6H1V-4H-1ZM-1-1H1V1H-1ZM-1 4H1V6H-1Z"};
  const style = `fill: ${shape === "ring" ? "none" : `var(--${colour})`}; stroke: var(--${colour}); stroke-width: ${shape === "ring" ? 1.5 : 0}`;
  svg.append(paths[shape] ? svg_node("path", {d: paths[shape], style}) : svg_node("circle", {r: shape === "ring" ? 4 : 3, style}));
  return svg;
};

const fill_legend = () => {
  const legend = by_id("legend");
  const marks = [["ring", "load", "load"], ["ring", "old", "load of an old value"], ["square", "store", "store"], ["diamond", "modify", "read-modify-write, mutex"],
                 ["triangle", "ring", "doorbell"], ["bar", "fence", "fence, barrier"], ["dot", "together", "lanes together"], ["dot", "pause", "pause"],
                 ["dots", "pause", "several steps that bring nothing new"], ["patch", "wait", "waits"], ["patch", "masked", "masked off"],
                 ["patch", "flight", "store under way"]];
  if (strips.some((strip) => strip.kind !== "word"))
    marks.push(["patch", "client", "bars of a port or slot, from the left: the client's outbox"], ["patch", "server", "the server's outbox"],
               ["patch", "client", "or"], ["patch", "server", "whose it is"], ["patch", "locked", "the client's lock, the server's lock"]);
  for (const [shape, colour, words] of marks) {
    const entry = element("span", "");
    entry.append(mark_of(shape, colour), words);
    legend.append(entry);
  }
};

/// Each step that the story names leads to it.
const link_story = () => {
  for (const item of document.querySelectorAll("#story li")) {
    const parts = item.textContent.split(/\bstep (\d+)\b/);
    if (parts.length < 2 || step_count === 0) continue;
    item.replaceChildren();
    parts.forEach((part, n) => {
      if (n % 2 === 0) { item.append(part); return; }
      const step = index_or_none(Number(part));
      if (step === never) { item.append(`step ${part}`); return; }
      const link = element("a", `step ${part}`, {href: `#step=${part}`});
      link.addEventListener("click", (event) => { event.preventDefault(); select(step, true); by_id("run").scrollIntoView({block: "start"}); });
      item.append(link);
    });
  }
};

/// What `heddle mend` has answered.
const fill_mend = () => {
  if (data.mend === null) return;
  by_id("mend").hidden = false;
  const {answers, partial, attempts, lines, schedules} = data.mend;
  const table = by_id("mend-table");
  table.append(table_row(["", "where", "change", "operations", "what was explored", "cost", "run with it"], "th"));
  const proved = (proof) => proof ? `; ${proof.words}` : "";
  (answers.length ? answers : partial).forEach((answer, n) => {
    answer.changes.forEach((change, m) => {
      const explored = answer.remaining.length ? `ends this finding; others remain: ${answer.remaining.map((one) => `${one.verdict} at ${one.where}`).join(", ")}`
        : `silent in ${answer.schedules.toLocaleString("en")} schedules${proved(answer.proof)}`;
      const assume = answer.changes.map((one) => `--assume ${one.site}=${one.change}`).join(" ");
      table.append(table_row(m === 0 ? [`${n + 1}.`, change.site, change.advice, String(change.operations), explored, String(answer.cost), element("code", assume)]
        : ["", change.site, change.advice, String(change.operations), "", "", ""]));
    });
  });
  by_id("mend-facts").textContent = (answers.length ? "" : "No change that was tried ends it with all others: it may not be a matter of orders, scopes, fences and barriers. ") +
    `Tried ${attempts.toLocaleString("en")} changes of ${lines.toLocaleString("en")} lines in ${schedules.toLocaleString("en")} schedules.`;
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
  fill_mend();
  link_story();
  draw_graph();
  apply_theme();
  resize();
  view.selected = Math.max(0, step_count - 1);
  if (judged_at !== never) view.selected = Math.max(0, Math.min(step_count, judged_at) - 1);
  else if (finding_steps.length !== 0) view.selected = Math.max(...finding_steps);
  const linked = location.hash;
  set_filters(-1, -1);
  filter();
  bring_into_view(row_of(view.selected), true);
  follow_link(linked);
  draw();
  window.addEventListener("hashchange", () => follow_link(location.hash));
  by_id("theme").addEventListener("click", next_theme);
  system_dark.addEventListener("change", apply_theme);
  by_id("copy").addEventListener("click", () => navigator.clipboard && navigator.clipboard.writeText(by_id("command").textContent));
  for (const [id, action] of [["first", () => move(-step_count)], ["previous", () => move(-1)], ["next", () => move(1)], ["last", () => move(step_count)],
                              ["zoom-in", () => zoom(view.row_height * 1.6)], ["zoom-out", () => zoom(view.row_height / 1.6)], ["zoom-all", () => zoom(0)],
                              ["lanes", toggle_all_lanes], ["folds", toggle_folds], ["alike", toggle_alike], ["axis", toggle_axis], ["svg", save_picture]])
    by_id(id).addEventListener("click", () => { if (step_count !== 0) action(); });
  by_id("keys").addEventListener("click", () => show_help(by_id("help").hidden));
  by_id("close-help").addEventListener("click", () => show_help(false));
  by_id("map").addEventListener("pointerdown", (event) => { by_id("map").setPointerCapture(event.pointerId); go_on_map(event); });
  by_id("map").addEventListener("pointermove", (event) => { if (event.buttons & 1) go_on_map(event); });
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
