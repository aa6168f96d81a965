// Who waits for whom, drawn and as a table. Those on a cycle stand in a circle, the others before it.

const svg_node = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

const nodes_most = 40; // a drawing of more helps no reader; the table has them all

/// `wide`: how far apart all stand, 1 for as near as mostly has room for the labels.
const graph_layout = (wide) => {
  const names = [...new Set(data.edges.flatMap((edge) => [edge.from, edge.to]))];
  const in_circle = data.circle.map((n) => data.edges[n].from);
  const others = names.filter((name) => !in_circle.includes(name)).slice(0, Math.max(0, nodes_most - in_circle.length));
  const width_of = (name) => Math.max(70, name.length * 7.4 + 18);
  // How far they are from the circle, or from what waits for nothing: the farthest stand on the left.
  const distance = new Map(in_circle.map((name) => [name, 0]));
  if (in_circle.length === 0) for (const name of others) if (!data.edges.some((edge) => edge.from === name)) distance.set(name, 0);
  const behind = (name) => Math.min(...data.edges.filter((edge) => edge.from === name && distance.has(edge.to)).map((edge) => distance.get(edge.to) + 1));
  for (let changed = true; changed;) {
    changed = false;
    for (const name of others) {
      const far = distance.has(name) ? Infinity : behind(name);
      if (Number.isFinite(far)) { distance.set(name, far); changed = true; }
    }
  }
  const ranks = [];
  for (const name of others) (ranks[distance.get(name) || 0] = ranks[distance.get(name) || 0] || []).push(name);
  const places = new Map();
  let x = 0;
  const highest = Math.max(1, ...ranks.filter(Boolean).map((rank) => rank.length));
  const radius = in_circle.length < 2 ? 0 : Math.max(62, in_circle.length * 26) * wide;
  const middle_y = Math.max(radius + 36, highest * 31 * wide + 10);
  for (const rank of ranks.reverse()) {
    if (!rank) continue;
    const widest = Math.max(...rank.map(width_of));
    rank.forEach((name, n) => places.set(name, {x: x + widest / 2, y: middle_y + (n - (rank.length - 1) / 2) * 62 * wide, width: width_of(name)}));
    x += widest + 190 * wide;
  }
  const stretch = 1.9;
  x += radius * stretch + Math.max(0, ...in_circle.map((name) => width_of(name) / 2));
  in_circle.forEach((name, n) => {
    const angle = (in_circle.length === 2 ? -Math.PI / 2 : -Math.PI) + n * 2 * Math.PI / in_circle.length;
    places.set(name, {x: x + radius * Math.cos(angle) * stretch, y: middle_y + radius * Math.sin(angle), width: width_of(name)});
  });
  return places;
};

/// Where each edge runs, from border to border, and which box it may not hide.
const edge_shapes = (places) => data.edges.map((edge, n) => {
  const from = places.get(edge.from), to = places.get(edge.to);
  if (!from || !to) return null;
  const twins = data.edges.filter((one, m) => m < n && ((one.from === edge.from && one.to === edge.to) || (one.from === edge.to && one.to === edge.from))).length;
  const back = data.edges.some((one) => one.from === edge.to && one.to === edge.from);
  const bend = (back ? 70 : 26) + (twins % 2) * 22 + Math.floor(twins / 2) * 40;
  const long = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const normal = {x: (from.y - to.y) / long, y: (to.x - from.x) / long};
  const middle = {x: (from.x + to.x) / 2 - normal.x * bend, y: (from.y + to.y) / 2 - normal.y * bend};
  const border = (at, towards) => { // where the line leaves its box
    const x = towards.x - at.x, y = towards.y - at.y;
    const part = Math.min((at.width / 2 + 2) / Math.max(1e-6, Math.abs(x)), 17 / Math.max(1e-6, Math.abs(y)));
    return {x: at.x + x * part, y: at.y + y * part};
  };
  if (edge.from === edge.to) {
    const height = 40 + twins * 22;
    const begin = {x: from.x - 20, y: from.y - 15}, end = {x: from.x + 20, y: from.y - 15};
    const point = (t) => ({x: begin.x + (end.x - begin.x) * t, y: begin.y - 3 * height * t * (1 - t)});
    return {begin, end, point, path: `M${begin.x} ${begin.y}C${begin.x} ${begin.y - height} ${end.x} ${end.y - height} ${end.x} ${end.y}`};
  }
  const begin = border(from, middle), end = border(to, middle);
  const point = (t) => ({x: begin.x * (1 - t) ** 2 + 2 * middle.x * t * (1 - t) + end.x * t ** 2,
                         y: begin.y * (1 - t) ** 2 + 2 * middle.y * t * (1 - t) + end.y * t ** 2});
  return {begin, end, point, path: `M${begin.x} ${begin.y}Q${middle.x} ${middle.y} ${end.x} ${end.y}`};
});

/// A place on its line for each label, where it covers no box and no other label; where there is none, the one that covers least.
const label_places = (shapes, places) => {
  const taken = [...places.values()].map((at) => ({x: at.x, y: at.y, wide: at.width + 8, high: 34}));
  const shared = (one, other) => Math.max(0, (one.wide + other.wide) / 2 - Math.abs(one.x - other.x)) * Math.max(0, (one.high + other.high) / 2 - Math.abs(one.y - other.y));
  return shapes.map((shape, n) => {
    if (!shape || data.edges[n].over === "") return null;
    const over = data.edges[n].name;
    const text = over.length > 30 ? `${over.slice(0, 28)}...` : over;
    let best = null;
    for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.15, 0.85, 0.45, 0.55, 0.35, 0.65])
      for (const beside of [-4, 12, -18, 26, -32, 40, -46, 54]) {
        const at = shape.point(t);
        const box = {x: at.x, y: at.y + beside - 4, wide: text.length * 6.6 + 8, high: 15};
        const covers = taken.reduce((sum, one) => sum + shared(box, one), 0);
        if (best === null || covers < best.covers) best = {...box, covers, text};
        if (covers === 0) break;
      }
    taken.push(best);
    return best;
  });
};

const draw_graph = () => {
  if (data.edges.length === 0 && data.unknown.length === 0) return;
  document.getElementById("waits").hidden = false;
  // The nearest that leaves room for all labels.
  let best = null;
  for (const wide of [1, 1.25, 1.5, 1.8, 2.2]) {
    const places = graph_layout(wide);
    const shapes = edge_shapes(places);
    const labels = label_places(shapes, places);
    const covers = labels.reduce((sum, label) => sum + (label ? label.covers : 0), 0);
    if (best === null || covers < best.covers) best = {places, shapes, labels, covers};
    if (covers === 0) break;
  }
  if (best.places.size > 0) draw_edges(best);
  const table = document.getElementById("edges");
  table.append(table_row(["actor", "waits for", "over", "circle"], "th"));
  data.edges.forEach((edge, n) => {
    const row = table_row([edge.from, edge.to, with_parts(edge.over) + (edge.why ? `; ${edge.why}` : edge.supposed ? ", supposed" : ""), data.circle.includes(n) ? "in the circle" : edge.cycle ? "in a circle" : ""]);
    row.classList.add("go");
    row.classList.toggle("cycle", edge.cycle);
    row.addEventListener("click", () => go_to_waiter(edge.from));
    table.append(row);
  });
  for (const one of data.unknown) {
    const row = table_row([one.from, "?", `${with_parts(one.over)}, ${one.why}`, ""]);
    row.classList.add("go");
    row.addEventListener("click", () => go_to_waiter(one.from));
    table.append(row);
  }
};

const draw_edges = ({places, shapes, labels}) => {
  // All of it is in the picture: boxes, labels, and how far the lines bend.
  const boxes = [...[...places.values()].map((at) => ({x: at.x, y: at.y, wide: at.width, high: 30})), ...labels.filter(Boolean),
                 ...shapes.filter(Boolean).flatMap((shape) => [0.25, 0.5, 0.75].map((t) => ({...shape.point(t), wide: 4, high: 4})))];
  const left = Math.min(...boxes.map((box) => box.x - box.wide / 2)) - 12;
  const right = Math.max(...boxes.map((box) => box.x + box.wide / 2)) + 12;
  const high = Math.min(...boxes.map((box) => box.y - box.high / 2)) - 8;
  const low = Math.max(...boxes.map((box) => box.y + box.high / 2)) + 8;
  const svg = svg_node("svg", {viewBox: `${left} ${high} ${right - left} ${low - high}`, width: right - left, height: low - high, role: "group", "aria-label": "what waits for what"});
  const marker = (id, colour) => {
    const made = svg_node("marker", {id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse"});
    made.append(svg_node("path", {d: "M0 0L8 4L0 8z", style: `fill: var(${colour})`}));
    return made;
  };
  const definitions = svg_node("defs", {});
  definitions.append(marker("tip-plain", "--flow"), marker("tip-cycle", "--bad"));
  svg.append(definitions);
  data.edges.forEach((edge, n) => {
    if (!shapes[n]) return;
    const group = svg_node("g", {class: `edge${edge.cycle ? " cycle" : ""}${edge.supposed ? " supposed" : ""}`, "data-from": edge.from, "data-to": edge.to});
    group.append(svg_node("path", {d: shapes[n].path, "marker-end": `url(#tip-${edge.cycle ? "cycle" : "plain"})`}));
    if (labels[n]) {
      const label = svg_node("text", {x: labels[n].x, y: labels[n].y + 4});
      label.textContent = labels[n].text;
      group.append(label);
    }
    svg.append(group);
  });
  for (const [name, at] of places) {
    const cycle = data.edges.some((edge) => edge.cycle && edge.from === name);
    const group = svg_node("g", {class: cycle ? "node cycle" : "node", "data-name": name, tabindex: 0, role: "button", "aria-label": `${name}: to where it waits`});
    group.append(svg_node("rect", {x: at.x - at.width / 2, y: at.y - 15, width: at.width, height: 30, rx: 6}));
    const label = svg_node("text", {x: at.x, y: at.y});
    label.textContent = name;
    group.append(label);
    group.addEventListener("click", () => go_to_waiter(name));
    group.addEventListener("keydown", (event) => { if (event.key === "Enter") go_to_waiter(name); });
    svg.append(group);
  }
  document.getElementById("graph").append(svg);
};

/// The last step of that wave or thread before the hang was certain.
const go_to_waiter = (name) => {
  const bare = name.replace(/ lanes? [-0-9, ]+$/, "");
  const wave = waves.find((one) => one.name === bare);
  if (!wave) return;
  let last = -1;
  for (const actor of wave.actors)
    for (const step of actor.steps) if (step > last && (judged_at === never || step < judged_at)) last = step;
  if (last >= 0) select(last, true);
  document.getElementById("run").scrollIntoView({block: "start"});
};

const table_row = (cells, kind = "td") => {
  const row = document.createElement("tr");
  for (const text of cells) {
    const cell = document.createElement(kind);
    if (text instanceof Node) cell.append(text); else cell.textContent = text;
    row.append(cell);
  }
  return row;
};
