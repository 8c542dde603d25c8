// Forms <-> address, questions to the worker, charts of what it answers.
"use strict";

const body = document.body;
const packages = JSON.parse(body.dataset.packages);
const forms = Object.fromEntries([...document.querySelectorAll("form")].map((form) => [form.dataset.view, form]));
const pyodide = new URL(body.dataset.pyodide, location.href).href;
const base = new URL(".", location.href).href;
const worker = new Worker("worker.js");
const at = (id) => document.getElementById(id);
let asked = 0;

function fragmentOf(form) {
  return form.dataset.view + "?" + new URLSearchParams(new FormData(form));
}

function show(fragment) {
  const [name, query] = [fragment.split("?")[0], fragment.slice(fragment.indexOf("?") + 1)];
  const form = forms[name];
  for (const view in forms) {
    at("view-" + view).hidden = view !== name;
    const link = document.querySelector(`nav a[data-view=${view}]`);
    if (view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!form) return ask(fragment); // the answer names the calculators
  form.reset();
  const unknown = [];
  if (fragment.includes("?")) {
    for (const [key, value] of new URLSearchParams(query)) {
      const field = form.elements.namedItem(key);
      const offered = field && (field.tagName !== "SELECT" || [...field.options].some((each) => each.value === value));
      if (offered) field.value = value;
      else unknown.push(key);
    }
  }
  ask(unknown.length ? fragment : fragmentOf(form)); // what the form cannot hold is refused by name
}

function ask(fragment) {
  asked += 1;
  at("error").hidden = true;
  body.dataset.answered = "";
  const name = fragment.split("?")[0];
  worker.postMessage({ id: asked, fragment, pyodide, base, packages: packages[name] || packages.headroom });
}

worker.onmessage = ({ data }) => {
  if (data.id !== asked) return; // settings have changed since
  if (data.state) return void (at("state").textContent = data.state);
  at("state").textContent = "";
  const found = data.failure ? { error: data.failure } : JSON.parse(data.answer);
  at("error").hidden = !found.error;
  at("error").textContent = found.error || "";
  at("answer").hidden = Boolean(found.error);
  if (!found.error) {
    at("finding").textContent = found.finding;
    at("code").textContent = found.code;
    at("charts").replaceChildren(...(found.bars ? [barChart(found.bars)] : []), ...found.charts.map(lineChart));
    at("table").replaceChildren(...(found.table ? [textTable(found.table)] : []));
  }
  body.dataset.answered = String(data.id);
};
worker.onerror = (event) => {
  at("state").textContent = "";
  at("error").hidden = false;
  at("error").textContent = event.message || "The worker did not start.";
};

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#2a6fb0", "#c8632a", "#3a8f4d", "#8a5bb5"];
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [420, 260, 56, 40];

function node(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

function framed(title, height, children) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = title;
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
  svg.append(node("title", {}, title), ...children);
  figure.append(caption, svg);
  return figure;
}

function ticks(low, high, logarithmic) {
  if (logarithmic) {
    const decades = [];
    for (let k = Math.ceil(low - 1e-9); k <= high + 1e-9; k += 1) decades.push(k);
    return decades;
  }
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  return found;
}

function scale(values, logarithmic, from, to) {
  const use = logarithmic ? Math.log10 : (value) => value;
  const all = values.map(use).filter(Number.isFinite);
  let [low, high] = [Math.min(...all), Math.max(...all)];
  if (!(high > low)) [low, high] = [low - 1, low + 1];
  const place = (value) => from + ((value - low) / (high - low)) * (to - from);
  const marks = ticks(low, high, logarithmic).map((value) => [
    place(value),
    logarithmic ? Number(`1e${value}`).toLocaleString("en") : Number(value.toPrecision(6)).toLocaleString("en"),
  ]);
  return { place: (value) => place(use(value)), marks };
}

function lineChart(chart) {
  const finite = (axis) => chart.lines.flatMap((line) => line[axis]).filter((value) => value !== null);
  const x = scale(finite("x"), chart.logarithmic, LEFT + 8, WIDTH - 12);
  const y = scale(finite("y"), chart.logarithmic, HEIGHT - BOTTOM - 6, 12);
  const parts = [node("path", { d: `M${LEFT} 6V${HEIGHT - BOTTOM}H${WIDTH - 6}`, fill: "none", stroke: "currentColor" })];
  for (const [place, text] of x.marks)
    parts.push(node("text", { x: place, y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, text));
  for (const [place, text] of y.marks)
    parts.push(node("text", { x: LEFT - 6, y: place + 4, "text-anchor": "end" }, text));
  parts.push(node("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, chart.x));
  const turned = `rotate(-90 11 ${(HEIGHT - BOTTOM) / 2})`;
  parts.push(node("text", { x: 11, y: (HEIGHT - BOTTOM) / 2, "text-anchor": "middle", transform: turned }, chart.y));
  chart.lines.forEach((line, number) => {
    const colour = COLOURS[number % COLOURS.length];
    const points = line.x.map((value, k) => [value, line.y[k]])
      .filter(([a, b]) => a !== null && b !== null && (!chart.logarithmic || (a > 0 && b > 0)))
      .map(([a, b]) => [x.place(a), y.place(b)]);
    const path = points.map((p) => p.join()).join(" ");
    if (line.joined) parts.push(node("polyline", { points: path, fill: "none", stroke: colour, "stroke-width": 1.8 }));
    if (line.marked) for (const [a, b] of points) parts.push(node("circle", { cx: a, cy: b, r: 2.4, fill: colour }));
  });
  const figure = framed(chart.title, HEIGHT, parts);
  if (chart.lines.length > 1) {
    const list = document.createElement("ul");
    list.className = "series";
    chart.lines.forEach((line, number) => {
      const item = document.createElement("li");
      item.textContent = "\u25cf " + line.label;
      item.style.color = COLOURS[number % COLOURS.length];
      list.append(item);
    });
    figure.append(list);
  }
  return figure;
}

function barChart({ title, x, rows }) {
  const step = 34, most = Math.max(...rows.map((row) => row[1]), 1e-12);
  const parts = rows.flatMap(([name, length, text], k) => [
    node("text", { x: 4, y: k * step + 12 }, `${name} ${text}`),
    node("rect", { x: 4, y: k * step + 16, width: Math.max(0, (length / most) * (WIDTH - 12)), height: 11, fill: COLOURS[0] }),
  ]);
  parts.push(node("text", { x: WIDTH / 2, y: rows.length * step + 12, "text-anchor": "middle" }, `${x}, largest ${most.toPrecision(4)}`));
  return framed(title, rows.length * step + 18, parts);
}

function textTable({ heading, rows, numbers }) {
  const table = document.createElement("table");
  for (const texts of [heading, ...rows]) {
    const row = table.insertRow();
    texts.forEach((text, k) => {
      const cell = document.createElement(texts === heading ? "th" : "td");
      cell.textContent = text;
      if (k < numbers) cell.className = "number";
      row.append(cell);
    });
  }
  return table;
}

for (const form of Object.values(forms)) {
  const settled = (event) => {
    event.preventDefault();
    history.replaceState(null, "", "#" + fragmentOf(form));
    ask(fragmentOf(form));
  };
  form.addEventListener("submit", settled);
  form.addEventListener("change", settled);
}
addEventListener("hashchange", () => show(location.hash.slice(1)));
show(location.hash.slice(1) || "headroom");
