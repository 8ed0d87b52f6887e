// Charts by Vega-Lite, drawn without eval: the library reads its expressions from a tree. Grey is the original and blue
// the release, everywhere. Names of columns and values are values of fields with fixed names, never expressions.

import { ROOT } from "./api.js";

let library = null;
const ROWS = "rows";

function load() {
  library ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${ROOT}static/vega.js`;
    script.type = "module";
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  return library;
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const look = () => ({
  aria: false,
  font: "Arial, Helvetica, sans-serif",
  background: "transparent",
  view: { stroke: null },
  axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelColor: colour("ink"), titleColor: colour("faint"), gridColor: colour("line"), domainColor: colour("before"), tickColor: colour("before"), labelLimit: 170 },
  text: { fontSize: 12, color: colour("ink") },
  legend: { labelColor: colour("ink"), titleColor: colour("faint"), labelFontSize: 12 },
});

const drawings = new WeakMap();

// Draw into a place; returns the view, to listen to and to signal. `title` is for those who cannot see it. A chart that
// differs from the one there in its rows alone is given the new rows; of several that are asked for at once, the last counts.
export async function draw(place, spec, title) {
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", title);
  const drawing = drawings.get(place) ?? {};
  drawings.set(place, drawing);
  drawing.wanted = spec;
  drawing.busy ??= settle(place, drawing).finally(() => { drawing.busy = null; });
  await drawing.busy;
  return drawing.view;
}

async function settle(place, drawing) {
  await load();
  while (drawing.wanted) {
    const wanted = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", ...drawing.wanted, config: look() };
    drawing.wanted = null;
    const shape = JSON.stringify({ ...wanted, data: wanted.data?.name });
    if (shape === drawing.shape) await drawing.view.data(ROWS, wanted.data.values).runAsync();
    else {
      drawing.view?.finalize();
      const found = await window.vegaEmbed(place, wanted, {
        actions: false, ast: true, renderer: "canvas", defaultStyle: false, mode: "vega-lite",
        tooltip: { disableDefaultStyle: true, theme: "ours" },
      });
      Object.assign(drawing, { view: found.view, shape });
    }
  }
}

const share = { type: "quantitative", axis: { format: "%", title: null, tickCount: 4 } };

export function sizesChart(sizes, width) {
  const name = ({ low, high }) => (high - low === 1 ? `${low}` : `${low}–${high - 1}`);
  const rows = [];
  for (const [kind, bins] of [["original", sizes.before], ["release", sizes.after]]) for (const bin of bins) rows.push({ size: name(bin), kind, share: bin.share });
  return {
    width, height: 150, data: { name: ROWS, values: rows }, mark: { type: "bar" },
    encoding: {
      x: { field: "size", type: "ordinal", sort: null, axis: { title: "rows that share a combination", labelAngle: -35 } },
      xOffset: { field: "kind" },
      y: { field: "share", ...share },
      color: { field: "kind", type: "nominal", legend: null, scale: { domain: ["original", "release"], range: [colour("before"), colour("after")] } },
      tooltip: [{ field: "kind" }, { field: "size", title: "class size" }, { field: "share", title: "of the rows", format: ".1%" }],
    },
  };
}

export function marginalChart(marginal, width) {
  const rows = [];
  marginal.parts.forEach((part, at) => {
    const value = part.value === null ? "(missing)" : part.value;
    rows.push({ at, value, kind: "original", share: part.before }, { at, value, kind: "release", share: part.after });
  });
  const scale = { domain: ["original", "release"], range: [colour("before"), colour("after")] };
  const tooltip = [{ field: "value" }, { field: "kind" }, { field: "share", title: "of the rows", format: ".2%" }];
  if (marginal.ordered) {
    const every = Math.ceil(marginal.parts.length / 6);
    return {
      width, height: 190, data: { name: ROWS, values: rows },
      layer: [
        { transform: [{ filter: "datum.kind == 'original'" }], mark: { type: "bar", width: { band: 0.95 } } },
        { transform: [{ filter: "datum.kind == 'release'" }], mark: { type: "line", interpolate: "step", strokeWidth: 2.5 } },
      ],
      encoding: {
        x: { field: "value", type: "ordinal", sort: null, axis: { title: null, labelAngle: 0, labelExpr: "split(datum.label, ' to ')[0]", values: marginal.parts.filter((_, at) => at % every === 0).map((part) => part.value ?? "(missing)"), labelOverlap: true } },
        y: { field: "share", ...share }, color: { field: "kind", type: "nominal", legend: null, scale }, tooltip,
      },
    };
  }
  return {
    width: width - 150, height: { step: 11 }, data: { name: ROWS, values: rows }, mark: { type: "bar" },
    encoding: {
      y: { field: "value", type: "nominal", sort: null, axis: { title: null, labelLimit: 140, domain: false, ticks: false } }, yOffset: { field: "kind" },
      x: { field: "share", ...share }, color: { field: "kind", type: "nominal", legend: null, scale }, tooltip,
    },
  };
}

// The front: what every k costs. Points of other schemes lie over it; the chosen one is ringed.
export function frontChart(front, steps, width) {
  const become = (levels) => Object.fromEntries(Object.entries(levels).map(([name, level], at) => [`a${at}`, `${name}: ${level === 0 ? "as it is" : level >= front.level.heights[name] ? "hidden" : `e.g. ${steps[name][level].example}`}`]));
  const points = front.level.points.map((point, at) => ({ at, k: point.k, loss: point.loss, scheme: "level", suppressed: point.suppressed, classes: point.classes, ...become(point.levels) }));
  const others = Object.entries(front.overlays).flatMap(([scheme, found]) => found.points.map((point) => ({ k: point.k, loss: point.loss, scheme, suppressed: point.suppressed, classes: point.classes, proven: point.proven ? "proven best" : "best found",
    ...Object.fromEntries(Object.entries(point.labels).map(([name, labels], at) => [`a${at}`, `${name}: ${labels} labels`])) })));
  const names = Object.keys(front.level.heights);
  const tooltip = [
    { field: "k", format: "," }, { field: "loss", title: "loss", format: ".3~g" }, { field: "scheme" }, { field: "suppressed", format: ",", title: "rows left out" }, { field: "classes", format: "," },
    ...names.map((_, at) => ({ field: `a${at}`, title: at === 0 ? "becomes" : " " })),
  ];
  const schemes = ["level", ...Object.keys(front.overlays)];
  const range = [colour("after"), colour("accent"), colour("sensitive"), colour("good"), colour("items"), colour("quasi")].slice(0, schemes.length);
  const x = { field: "k", type: "quantitative", scale: { type: "log", nice: false }, axis: { title: "k: at least so many look alike", format: ",", tickCount: 8, grid: false } };
  const y = { field: "loss", type: "quantitative", axis: { title: front.metric === "glm" ? "share of detail lost" : `loss (${front.metric})`, ...(front.metric === "glm" || front.metric === "ncp" ? { format: "%" } : {}) } };
  const color = { field: "scheme", type: "nominal", scale: { domain: schemes, range }, legend: schemes.length > 1 ? { title: "scheme", orient: "top-left" } : null };
  return {
    width, height: 340,
    params: [{ name: "chosenk", value: 0 }, { name: "chosenscheme", value: "level" }],
    layer: [
      { data: { values: front.level.cloud.map(([k, loss]) => ({ k, loss })) }, mark: { type: "circle", size: 9, color: colour("before"), opacity: 0.28 }, encoding: { x, y } },
      { data: { values: points }, mark: { type: "line", interpolate: "step-before", strokeWidth: 2 }, encoding: { x, y, color } },
      ...(others.length ? [{ data: { values: others }, mark: { type: "line", strokeWidth: 1, opacity: 0.6 }, encoding: { x, y, color } }] : []),
      { name: "points", data: { values: [...points, ...others] }, mark: { type: "circle", size: 60, opacity: 1, cursor: "pointer" }, encoding: { x, y, color, tooltip } },
      { data: { values: points.filter((point) => front.level.knees.includes(point.k)) }, mark: { type: "text", dx: 8, dy: 14, align: "left", color: colour("accent"), text: "knee" }, encoding: { x, y } },
      { data: { values: [...points, ...others] }, transform: [{ filter: "datum.k == chosenk && datum.scheme == chosenscheme" }], mark: { type: "point", size: 260, strokeWidth: 3, color: colour("ink"), opacity: 1 }, encoding: { x, y } },
    ],
  };
}
