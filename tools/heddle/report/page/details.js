// All that is known of the selected step, and what all others do meanwhile.

const detail = document.getElementById("detail");

const element = (name, text, properties = {}) => Object.assign(document.createElement(name), {textContent: text, ...properties});
const step_link = (step, text) => {
  const link = element("a", text || `step ${number_of(step).toLocaleString("en")} of ${actor_of(step).name}`);
  link.dataset.goto = number_of(step);
  link.addEventListener("click", () => select(step, true));
  return link;
};
const sentence = (...parts) => {
  const made = document.createElement("p");
  made.append(...parts);
  return made;
};

const reads_words = (step) => {
  const letter = letter_of(step);
  if (letter !== "r" && letter !== "m") return [];
  const from = read_from[step];
  const old = old_reads.has(step) ? [sentence(element("b", "An old value: a newer one was stored already, but not visible here.", {className: "stands"}))] : [];
  const missed = missed_stores.has(step) ? index_or_none(missed_stores.get(step)) : never;
  if (missed !== never) old.push(sentence("It misses the store of ", step_link(missed), "."));
  if (from === initial_store) return [sentence("It reads what was there in the beginning."), ...old];
  if (from === earlier_store) return [sentence("It reads a store before the first step that is shown."), ...old];
  if (from === unknown_store) return [sentence("Which store it reads was not recorded."), ...old];
  return [sentence("It reads ", step_link(from, from === step ? "itself" : undefined), "."), ...old];
};

const stores_words = (step) => {
  const made = [];
  const letter = letter_of(step);
  if (lost_rings.has(step)) made.push(sentence(element("b", "This ring is lost: nothing ever sees it.", {className: "stands"})));
  if (late_stores.has(step)) {
    const arrived = late_stores.get(step);
    made.push(sentence(arrived === never ? "It is still under way when the run ends: nothing else can see it."
      : `It is under way until behind step ${number_of(arrived).toLocaleString("en")}, ${(arrived - step).toLocaleString("en")} steps later.`));
  }
  if (stores_behind.has(step)) {
    const newer = index_or_none(stores_behind.get(step));
    made.push(sentence(element("b", `This store counts as older than one made before it, which ${actor_of(step).name} had not acquired: `, {className: "stands"}),
                       newer === never ? `step ${stores_behind.get(step)}` : step_link(newer), "."));
  }
  if (written_values.has(step)) made.push(sentence(`It leaves ${texts[written_values.get(step)]}.`));
  const seen = outgoing_flows(step);
  for (const flow of seen) {
    if (flow.missed !== never) made.push(sentence("Missed by ", step_link(flow.missed), ", which reads something older."));
    if (flow.seen !== never) made.push(sentence("First seen by ", step_link(flow.seen), "."));
  }
  if ((letter === "w" || letter === "n") && !seen.some((flow) => flow.seen !== never)) made.push(sentence("Nothing else reads what it stores."));
  return made;
};

const odd_words = (step) => odd_steps.has(step) ? [sentence(element("b", odd_steps.get(step), {className: "stands"}))] : [];

const source_box = (step) => {
  const calls = calls_of(step);
  const box = document.createDocumentFragment();
  if (calls.length === 0) { box.append(sentence("The line of source is not known.")); return box; }
  const frame = view.frame < 0 ? Math.max(0, calls.findIndex((call) => !is_library(call))) : Math.min(view.frame, calls.length - 1);
  const frames = element("p", "", {className: "frames"});
  calls.forEach((call, n) => {
    if (is_library(call) && n !== frame && !view.all_frames) return;
    const button = element("button", (n === 0 ? "" : "from ") + line_name(call), {type: "button", title: call[2]});
    button.setAttribute("aria-pressed", n === frame);
    button.addEventListener("click", () => { view.frame = n; show_details(); });
    frames.append(button);
  });
  const hidden = calls.filter((call, n) => is_library(call) && n !== frame).length;
  if (hidden !== 0) {
    const more = element("button", view.all_frames ? "without libraries" : `${hidden} of libraries`, {type: "button"});
    more.addEventListener("click", () => { view.all_frames = !view.all_frames; show_details(); });
    frames.append(more);
  }
  box.append(frames);
  const [file, line, name] = calls[frame];
  if (name) box.append(sentence(element("code", name)));
  const source = data.sources.find((one) => one.file === file);
  const range = source && source.ranges.find((one) => line >= one.first && line < one.first + one.lines.length);
  if (!range) {
    box.append(sentence(source && source.found ? "The file has no such line any more." : "The source was not found when the page was made."));
    return box;
  }
  if (source.newer) box.append(sentence(element("i", "The file has changed since the program was built: lines may not fit.")));
  const listing = element("div", "", {className: "source mono", tabIndex: 0, role: "region", ariaLabel: "source"});
  const around = 8;
  const seen = range.lines.slice(Math.max(0, line - around - range.first), line + around + 1 - range.first).filter((text) => text.trim() !== "");
  const indent = Math.min(...seen.map((text) => /^ */.exec(text)[0].length), 40); // what all of them have is left out
  for (let n = Math.max(range.first, line - around); n <= Math.min(range.first + range.lines.length - 1, line + around); ++n) {
    const row = document.createElement("div");
    row.append(element("i", `${String(n).padStart(4)} `), range.lines[n - range.first].slice(indent));
    if (n === line) row.className = "here";
    listing.append(row);
  }
  box.append(listing);
  return box;
};

const meanwhile_box = (step) => {
  const table = document.createElement("table");
  table.id = "meanwhile";
  const most = 64;
  const shown = actors.filter((actor) => has_life(actor) && (view.wave < 0 || actor.wave === view.wave || actors.length <= most)).slice(0, most);
  for (const actor of shown) {
    const self = actor === actor_of(step);
    const [words, stands] = self ? ["takes this step", false] : state_at(actor, step);
    const row = table_row([actor.name, words]);
    row.classList.toggle("self", self);
    if (stands) row.lastChild.className = "stands";
    table.append(row);
  }
  for (const wave of waves) if (!wave.placed && wave.actors.length === 0) table.append(table_row([wave.name, "has no place on the device"]));
  const box = document.createDocumentFragment();
  box.append(table);
  if (actors.length > most) box.append(sentence(`The first ${shown.length} of ${actors.length}; choose a wave to see its lanes.`));
  return box;
};

const slots_box = (step) => {
  const table = document.createElement("table");
  table.id = "slots-now";
  const changes_now = (strip) => { const change = strip_change_at(strip, step + 1); return change >= 0 && strip.steps[change] === step + 1; };
  const changed = strips.filter(changes_now);
  const others = strips.filter((strip) => !changes_now(strip)).slice(0, 24);
  for (const strip of view.slot >= 0 ? [strips[view.slot]] : [...changed, ...others]) {
    const change = strip_change_at(strip, step + 1);
    const by = change < 0 ? "" : `since step ${(strip.changes[change][0]).toLocaleString("en")}, by ${actors[strip.changes[change][2]].name}`;
    const row = changes_now(strip) ? table_row([strip.name, `${state_words(strip, change - 1)} \u2192 ${state_words(strip, change)}`, "by this step"])
      : table_row([strip.name, state_words(strip, change), by]);
    row.classList.toggle("changed", changes_now(strip));
    table.append(row);
  }
  return table;
};

const show_details = () => {
  detail.replaceChildren();
  if (row_count() === 0) { detail.append(sentence("No step is left by the filters.")); return; }
  const step = view.selected;
  detail.dataset.step = number_of(step);
  detail.append(element("h3", `step ${number_of(step).toLocaleString("en")}: ${actor_of(step).name}`));
  detail.append(sentence(element("code", operation_of(step))));
  const fold = folded.get(step);
  if (fold) detail.append(sentence(`It stands for ${fold.count.toLocaleString("en")} steps, up to step ${number_of(fold.last).toLocaleString("en")}, in which each does what it has done before, with the same values. Enter opens them.`));
  const place = place_of(step);
  if (place) detail.append(sentence(element("code", `${place}, ${sorts[step_sort[step]][4]} bytes`)));
  const value = value_of(step);
  if (value) detail.append(sentence(`${{r: "reads", m: "finds", w: "stores", c: "gets"}[letter_of(step)] || "value"} `, element("code", value)));
  if (has_times) detail.append(sentence(`Behind it the clock of ${actor_of(step).name} stands at ${ns_words(times[step])} of virtual time.`));
  detail.append(...reads_words(step), ...stores_words(step), ...odd_words(step));
  detail.append(element("h4", "source"), source_box(step));
  detail.append(element("h4", "meanwhile"), meanwhile_box(step));
  if (strips.length !== 0) detail.append(element("h4", "state behind this step"), slots_box(step));
};
