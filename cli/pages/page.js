const cards = [...document.querySelectorAll(".card")];
const charts = cards.map((card) => card.querySelector(".chart"));
for (const card of cards) {
  const figure = JSON.parse(card.querySelector("script").textContent);
  const chart = card.querySelector(".chart");
  const axes = {}, types = {}, given = structuredClone(figure.layout);  // as they are first drawn
  Plotly.newPlot(chart, figure.data, figure.layout, {responsive: true, displayModeBar: false});
  for (const name of Object.keys(chart._fullLayout).filter((key) => /^[xy]axis[0-9]*$/.test(key))) {
    const axis = given[name] ?? {};
    types[name] = chart._fullLayout[name].type;
    axes[`${name}.type`] = types[name];
    axes[axis.range ? `${name}.range` : `${name}.autorange`] = axis.range ?? (axis.autorange || true);
  }
  const upright = Object.keys(types).filter((name) => name[0] === "y" && isQuantity(chart._fullLayout[name]));
  const does = {
    CSV: () => saveText(csv(figure), fileName(figure, "csv")),
    PNG: () => Plotly.downloadImage(chart, {format: "png", scale: 2, filename: fileName(figure, "")}),
    reset: () => related(chart).forEach((each) => each.restore()),
    log: (button) => {
      const on = button.getAttribute("aria-pressed") !== "true";
      pressed(on);
      const changes = upright.map((name) => [[`${name}.type`, on ? "log" : "linear"], [`${name}.autorange`, true]]);
      Plotly.relayout(chart, Object.fromEntries(changes.flat()));
    },
  };
  chart.restore = () => { pressed(false); Plotly.relayout(chart, structuredClone(axes)); };
  const log = card.querySelector('button[data-does="log"]');
  const pressed = (on) => log.setAttribute("aria-pressed", on);
  log.hidden = !upright.length || upright.some((name) => types[name] === "log") || !positive(figure.data);
  for (const button of card.querySelectorAll("button")) {
    button.addEventListener("click", () => does[button.dataset.does](button));
  }
}
// The figures of a section that have the same quantity below show the same part of it.
for (const chart of charts) {
  const others = related(chart).filter((each) => each !== chart);
  chart.on("plotly_relayout", (changes) => {
    const range = [changes["xaxis.range[0]"], changes["xaxis.range[1]"]];  // as a reader changes it, not a program
    if (range[0] !== undefined) others.forEach((each) => Plotly.relayout(each, {"xaxis.range": [...range]}));
    if (!changes["xaxis.autorange"]) return;
    const narrowed = others.filter((each) => !each._fullLayout.xaxis.autorange);
    narrowed.forEach((each) => Plotly.relayout(each, {"xaxis.autorange": true}));
  });
}
// A row leads to the figure in which its name is drawn, the nearest first, and the figure back to the table.
cards.forEach((card, i) => { card.id = `f${i + 1}`; });
const drawn = new Map(charts.map((chart) => [chart, names(chart)]));
for (const header of document.querySelectorAll("section tbody th")) {
  const near = [...header.closest("section").querySelectorAll(".chart")];
  const labels = [...header.parentElement.querySelectorAll(".label")].map((cell) => cell.textContent);
  const chart = [...near, ...charts].find((each) => [labels[0], labels.join(", ")].some((name) => drawn.get(each).has(name)));
  if (!chart) continue;
  const card = chart.parentElement, table = header.closest(".scroll");
  table.id ||= `t${card.id}`;
  link(header, header.textContent, card.id);
  const buttons = card.querySelector(".buttons");
  if (!buttons.querySelector("a")) {
    const back = link(document.createElement("a"), "table", table.id);
    back.ariaLabel = `table of ${card.ariaLabel}`;
    buttons.prepend(back);
  }
}
// On narrow screens, each cell of a wide table has the name of its column above it.
for (const table of document.querySelectorAll(".wide")) {
  const names = [...table.querySelectorAll("thead th")].map((header) => header.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.name = names[i]; });
}
addEventListener("beforeprint", () => charts.forEach((chart) => Plotly.relayout(chart, {width: 680})));
addEventListener("afterprint", () => charts.forEach((chart) => Plotly.relayout(chart, {width: null, autosize: true})));

// Whether an axis is of a quantity with a unit: not of names, fractions or what only has places.
function isQuantity(axis) {
  return axis.type === "linear" && axis.visible && axis.title.text && axis.tickmode === "auto" && !axis.tickformat.includes("%");
}

function related(chart) {
  const below = ({_fullLayout: {xaxis}}) => [quantity(xaxis), xaxis?.type].join();
  const section = [...chart.closest("section").querySelectorAll(".chart")];
  return section.filter((each) => each === chart || (chart._fullLayout.xaxis && below(each) === below(chart)));
}

// The unit of an axis, or its whole title if it has none.
function quantity(axis) {
  const text = axis?.title?.text ?? "";
  return text.match(/\(([^()]+)\)$/)?.[1] ?? text;
}

// Names of what is drawn: series and categories.
function names(chart) {
  const found = chart._fullData.map((trace) => trace.name);
  for (const name of ["xaxis", "yaxis"]) found.push(...(chart._fullLayout[name]?._categories ?? []));
  return new Set(found.filter(Boolean).map((text) => plain(String(text)).trim()));
}

function link(element, text, target) {
  const anchor = element.matches("a") ? element : document.createElement("a");
  anchor.href = `#${target}`;
  anchor.textContent = text;
  if (anchor !== element) element.replaceChildren(anchor);
  return anchor;
}

// Whether a logarithmic axis can show all values.
function positive(traces) {
  return traces.every((trace) => [...(numbers(trace.y) ?? [])].every((value) => value === null || value > 0));
}

function saveText(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function fileName(figure, ending) {
  const words = plain(figure.layout.title?.text ?? "").toLowerCase().match(/[a-z0-9]+/g) ?? ["figure"];
  return words.slice(0, 8).join("-") + (ending && `.${ending}`);
}

// The figure's data: the table it carries if it has one, else a row for each point of each series.
function csv(figure) {
  const table = figure.layout.meta?.table;
  const rows = table ? table.rows : figure.data.flatMap((trace) => rowsOf(trace, figure.layout));
  const columns = table ? table.columns : [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const shown = (value) => (typeof value === "string" ? plain(value) : value);
  const lines = rows.map((row) => (table ? row : columns.map((column) => shown(row[column]))));
  return [columns, ...lines].map((line) => line.map(cell).join(",") + "\r\n").join("");
}

function cell(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function rowsOf(trace, layout) {
  const label = (axis) => plain(layout[(trace[`${axis}axis`] ?? axis).replace(axis, `${axis}axis`)]?.title?.text || axis);
  const x = numbers(trace.x), y = numbers(trace.y);
  return x.map((value, i) => ({
    series: trace.meta?.series ?? trace.name,
    [label("x")]: value,
    [label("y")]: y[i],
    ...bounds(trace.error_x ?? trace.error_y, trace.error_x ? x : y, i),
    ...(trace.customdata && {[trace.meta?.customdata ?? "value"]: numbers(trace.customdata)[i]}),
    ...(Array.isArray(trace.text) && {note: trace.text[i]}),
  }));
}

function bounds(error, values, i) {
  if (!error?.array) return {};
  const above = numbers(error.array), below = numbers(error.arrayminus ?? error.array);
  return {low: values[i] - below[i], high: values[i] + above[i]};
}

// Plotly packs numbers as base64.
function numbers(values) {
  if (!values?.bdata) return values;
  const kinds = {
    i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array,
    f4: Float32Array, f8: Float64Array,
  };
  const bytes = Uint8Array.from(atob(values.bdata), (character) => character.charCodeAt(0));
  const flat = [...new kinds[values.dtype](bytes.buffer)];
  if (!values.shape) return flat;
  const [rows, columns] = String(values.shape).split(",").map(Number);
  return Array.from({length: rows}, (_, row) => flat.slice(row * columns, (row + 1) * columns));
}

// Text as it is shown: names in figures are escaped.
function plain(text) {
  const shown = text.replaceAll("<br>", "; ");
  return new DOMParser().parseFromString(shown, "text/html").documentElement.textContent;
}
