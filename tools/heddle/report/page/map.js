// The whole run beside the picture, and the picture as a file.

const map = document.getElementById("map");
const map_paint = map.getContext("2d", {alpha: false});
const map_width = 56;

const line_on_map = (line) => line / Math.max(1, line_count()) * map.clientHeight;
const row_on_map = (row) => line_on_map(line_of_row(row));

/// What does not change while the view moves, drawn once for a size, a theme and what is shown.
let map_key = "";
let map_back = null;
const draw_map_back = () => {
  const height = map.clientHeight;
  const ratio = window.devicePixelRatio || 1;
  map.width = map_width * ratio;
  map.height = height * ratio;
  map_paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  map_paint.fillStyle = colours.raised;
  map_paint.fillRect(0, 0, map_width, height);
  const columns = view.columns.filter((column) => column.actors);
  const x_of = new Map();
  columns.forEach((column, n) => { for (const actor of column.actors) x_of.set(actor.index, 8 + (map_width - 16) * n / columns.length); });
  const high = Math.max(1, Math.min(4, map.clientHeight / Math.max(1, line_count()) - 1));
  const wide = Math.max(1, Math.min(8, (map_width - 16) / Math.max(1, columns.length) - 1));
  const lines = new Set(); // what stands on a line of pixels already
  for (let row = 0; row < row_count(); ++row) {
    const step = step_at(row), actor = sorts[step_sort[step]][0];
    const y = Math.floor(row_on_map(row));
    const key = y * actors.length + actor;
    const letter = letter_of(step);
    if (lines.has(key) && letter !== "w" && letter !== "m") continue;
    lines.add(key);
    map_paint.fillStyle = colour_of(letter);
    map_paint.fillRect(x_of.get(actor) ?? 8, y, wide, high);
  }
  const tick = (row, colour, x, size) => {
    map_paint.fillStyle = colour;
    map_paint.fillRect(x, Math.floor(row_on_map(row)) - 1, size, 3);
  };
  for (const step of old_reads) tick(row_of(step), colours.old, 0, 6);
  for (const step of lost_rings) tick(row_of(step), colours.ring, 0, 6);
  for (const step of finding_steps) tick(row_of(step), colours.bad, map_width - 7, 7);
  if (judged_at !== never) tick(row_of_rank(axis.judged), colours.bad, 0, map_width);
  map_back = map_paint.getImageData(0, 0, map.width, map.height);
};

const draw_map = () => {
  const key = [map.clientHeight, row_count(), view.columns.map((column) => column.title), colours.back, view.wave, view.slot, axis.is_time].join();
  if (key !== map_key) { map_key = key; draw_map_back(); }
  if (map_back) map_paint.putImageData(map_back, 0, 0);
  const top = line_on_map(scroll.scrollTop / view.row_height);
  const high = line_on_map((scroll.clientHeight - view.head) / view.row_height);
  map_paint.strokeStyle = colours.link;
  map_paint.lineWidth = 1.5;
  map_paint.strokeRect(1, Math.max(1, top), map_width - 2, Math.max(4, Math.min(high, map.clientHeight - top - 2)));
  map_paint.fillStyle = colours.text;
  map_paint.fillRect(0, Math.floor(row_on_map(row_of(view.selected))), map_width, 1);
};
const go_on_map = (event) => {
  const part = (event.clientY - map.getBoundingClientRect().top) / map.clientHeight;
  scroll.scrollTop = part * line_count() * view.row_height - (scroll.clientHeight - view.head) / 2;
};

// -- the picture as SVG -----------------------------------------------------------------------------------------------------------------

const xml = (text) => String(text).replace(/[&<>"]/g, (one) => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"})[one]);

/// As much of a canvas as the picture is drawn with; keeps what is drawn as elements of SVG.
class svg_paint {
  parts = [];
  fillStyle = "none";
  strokeStyle = "none";
  lineWidth = 1;
  globalAlpha = 1;
  font = "12px sans-serif";
  textAlign = "left";
  #dash = [];
  #path = "";
  #moved = [0, 0];
  save() {}
  restore() { this.#moved = [0, 0]; }
  translate(x, y) { this.#moved = [this.#moved[0] + x, this.#moved[1] + y]; }
  setLineDash(dash) { this.#dash = dash; }
  #at(x, y) { return `${(x + this.#moved[0]).toFixed(1)} ${(y + this.#moved[1]).toFixed(1)}`; }
  beginPath() { this.#path = ""; }
  moveTo(x, y) { this.#path += `M${this.#at(x, y)}`; }
  lineTo(x, y) { this.#path += `L${this.#at(x, y)}`; }
  closePath() { this.#path += "Z"; }
  arc(x, y, radius) { this.#path += `M${this.#at(x - radius, y)}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`; }
  #seen() { return this.globalAlpha === 1 ? "" : ` opacity="${this.globalAlpha}"`; }
  fill() { this.parts.push(`<path d="${this.#path}" fill="${this.fillStyle}"${this.#seen()}/>`); }
  stroke() {
    const dash = this.#dash.length ? ` stroke-dasharray="${this.#dash.join(" ")}"` : "";
    this.parts.push(`<path d="${this.#path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dash}${this.#seen()}/>`);
  }
  fillRect(x, y, width, height) {
    if (width > 0 && height > 0)
      this.parts.push(`<rect x="${(x + this.#moved[0]).toFixed(1)}" y="${(y + this.#moved[1]).toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" fill="${this.fillStyle}"${this.#seen()}/>`);
  }
  fillText(text, x, y, more = "") {
    const anchor = this.textAlign === "right" ? ' text-anchor="end"' : "";
    const [, size, family] = /(\d+(?:\.\d+)?)px (.*)/.exec(this.font);
    this.parts.push(`<text x="${(x + this.#moved[0]).toFixed(1)}" y="${(y + this.#moved[1]).toFixed(1)}" font-size="${size}" font-family="${xml(family)}" fill="${this.fillStyle}"${anchor}${more}>${xml(text)}</text>`);
  }
}
/// What the run's pane shows, as a text of SVG: marks, titles and rows.
const picture_as_svg = () => {
  const {width, height} = shown_box;
  const canvas_paint = paint;
  const made = new svg_paint();
  paint = made;
  try { draw_picture(); } finally { paint = canvas_paint; }
  made.fillStyle = colours.text;
  const left = scroll.scrollLeft;
  made.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  for (const column of view.columns) {
    const x = column.x - left + (column.turned ? column.width / 2 + 4 : 2), y = column.turned ? view.head - 5 : 17;
    made.fillText(column.label, x, y, column.turned ? ` transform="rotate(-90 ${x.toFixed(1)} ${y.toFixed(1)})"` : "");
  }
  made.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
  for (const row of row_pool) {
    if (row.style.display === "none" || rows_box.style.display === "none") continue;
    const box = row.getBoundingClientRect(), pane = scroll.getBoundingClientRect();
    const y = box.top - pane.top + view.row_height / 2 + 4;
    if (y < view.head || y > height) continue;
    for (const cell of row.children) {
      made.fillStyle = getComputedStyle(cell).color;
      const at = cell.getBoundingClientRect();
      const fits = Math.floor(at.width / 6.6);
      made.fillText(cell.textContent.length > fits ? `${cell.textContent.slice(0, fits - 1)}\u2026` : cell.textContent, at.left - pane.left, y);
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n${made.parts.join("\n")}\n</svg>\n`;
};

const save_as = (name, text, type) => {
  const link = element("a", "", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
const save_picture = () => save_as(`${document.querySelector("h1").textContent}.svg`, picture_as_svg(), "image/svg+xml");
