// Step 4: what every k costs, and what becomes of the table at each.
import { get, post } from "./api.js";
import { field, h, number, options, percent, problem, waiting } from "./dom.js";
import { draw, frontChart } from "./charts.js";
import { running, watch, watchBegun } from "./job.js";
import { evidence, seenTiles } from "./seen.js";

const kept = { metric: "glm", suppression: null, secrets: false, k: null, scheme: "level", overlay: "set" };
const views = new Map();

export function exploreStep(place, studio) {
  const { project } = studio;
  place.append(h("h1", {}, "What does every k cost?"));
  if (!studio.of("quasi").length) {
    place.append(h("p", { class: "lead" }, "A front shows what every k costs in quasi-identifiers, and this table has none. Baskets go straight to the release."), h("p", {}, h("a", { class: "button main", href: "#publish" }, "Next: publish")));
    return null;
  }
  kept.suppression ??= project.spec.method?.suppression ?? 0.05;
  const progress = h("div");
  const shown = h("div");
  const again = () => find(studio, progress, shown);
  const secrets = ["l", "p", "t"].filter((key) => project.spec.privacy?.[key] !== undefined);
  if (!secrets.length) kept.secrets = false;
  place.append(
    h("div", { class: "row" },
      field("Loss:", h("select", { id: "front-metric", onchange: (event) => { kept.metric = event.target.value; again(); } }, options(Object.keys(studio.words.front_metrics).filter((name) => name !== "ce").map((name) => [name, name === "glm" ? "detail lost (glm)" : name]), kept.metric))),
      field("Rows that may be left out:", h("select", { id: "front-suppression", disabled: kept.secrets, onchange: (event) => { kept.suppression = Number(event.target.value); again(); } }, options([...new Set([0, 0.01, 0.02, 0.05, 0.1, kept.suppression])].sort((one, other) => one - other).map((value) => [String(value), value === 0 ? "none" : value === 1 ? "any" : percent(value)]), String(kept.suppression)))),
      secrets.length ? h("label", {}, h("input", { type: "checkbox", id: "front-secrets", checked: kept.secrets, onchange: (event) => { kept.secrets = event.target.checked; again(); } }), ` Keep ${secrets.join(" and ")} too; then no row may be left out`) : null),
    secrets.length && !kept.secrets ? h("p", { class: "note" }, `This is about k alone. What you promise of secrets (${secrets.join(", ")}) is kept by the release on top of it, and may cost more.`) : "",
    progress, shown);
  const job = running(studio, "front");
  if (job) watch(studio, progress, job.id, () => studio.refresh());
  else if (project.has_front) return show(studio, progress, shown);
  else again();
  return null;
}

async function find(studio, progress, shown) {
  shown.replaceChildren();
  views.clear();
  const job = await studio.attempt(() => post(`${studio.base}/front`, { metric: kept.metric, suppression: kept.suppression, secrets: kept.secrets }));
  if (!job) {
    shown.replaceChildren(h("p", { class: "note" }, "There is no front to show."));
    return;
  }
  kept.scheme = "level";
  watchBegun(studio, progress, job.id, (over) => {
    if (over.state === "done") studio.refresh();
    else shown.replaceChildren(h("p", {}, h("button", { type: "button", id: "again", onclick: () => find(studio, progress, shown) }, "Look again")));
  });
}

async function show(studio, progress, shown) {
  const drawn = studio.drawn;
  const front = await studio.attempt(() => get(`${studio.base}/front`));
  if (!front || drawn !== studio.drawn) return;
  Object.assign(kept, { metric: front.metric, secrets: front.secrets });
  const points = [...front.level.points.map((point) => ({ ...point, scheme: "level" })), ...Object.entries(front.overlays).flatMap(([scheme, found]) => found.points.map((point) => ({ ...point, scheme })))];
  const asked = studio.project.spec.privacy?.k ?? 5;
  const level = front.level.points;
  if (!points.some((point) => point.k === kept.k && point.scheme === kept.scheme)) {
    kept.scheme = "level";
    kept.k = (level.find((point) => point.k >= asked) ?? level.at(-1)).k;
  }
  const chart = h("div", { class: "chart" });
  const details = h("div");
  const slider = h("input", { type: "range", id: "front-k", min: "0", max: String(level.length - 1), step: "1", "aria-label": "Move along the front" });
  const words = h("p", { class: "lead", id: "front-words" });
  let view = null;
  const pick = async (scheme, k) => {
    Object.assign(kept, { scheme, k });
    const at = level.findIndex((point) => point.k >= k);
    slider.value = String(at < 0 ? level.length - 1 : at);
    const point = points.find((each) => each.k === k && each.scheme === scheme);
    const loss = ["glm", "ncp"].includes(front.metric) ? percent(point.loss) : number(point.loss);
    words.textContent = `k = ${number(k)}${scheme === "level" ? "" : ` by the scheme ${scheme}`}: loss ${loss}, ${number(point.suppressed)} rows left out.`;
    slider.setAttribute("aria-valuetext", words.textContent);
    view?.signal("chosenk", k).signal("chosenscheme", scheme).runAsync();
    const key = `${scheme}/${k}`;
    if (!views.has(key)) views.set(key, get(`${studio.base}/front/${key}`));
    let seen;
    try {
      seen = await views.get(key);
    } catch (error) {
      views.delete(key);
      details.replaceChildren(problem(error.message));
      return;
    }
    if (kept.k !== k || kept.scheme !== scheme) return; // somebody has moved on
    details.replaceChildren(seenTiles(seen), evidence(seen, studio));
    details.dataset.k = String(k);
  };
  slider.addEventListener("input", () => pick("level", level[Number(slider.value)].k));
  const title = `From k = ${level[0].k} to k = ${number(level.at(-1).k)}; ${front.level.found}.`;
  const overlay = h("select", { id: "overlay", "aria-label": "Scheme to lay over", onchange: (event) => { kept.overlay = event.target.value; } }, options(Object.keys(studio.words.schemes).filter((name) => name !== "level").map((name) => [name, name]), kept.overlay));
  shown.replaceChildren(
    words,
    h("figure", {}, chart, h("div", { class: "row" }, h("span", { class: "note" }, "Move along:"), slider, h("button", { type: "button", id: "use", class: "main", onclick: async () => {
      if (studio.take(await studio.attempt(() => post(`${studio.base}/front/chosen`, { k: kept.k, scheme: kept.scheme })), `chose k = ${kept.k}`)) location.hash = "#publish";
    } }, "Use this one"))),
    h("p", { class: "note" }, title, front.current ? "" : " The specification has changed since.", " Blue: no recoding by levels is better. Grey: recodings that others better."),
    h("div", { class: "row" }, h("span", {}, "Freer recodings lose less. Lay over:"), overlay, h("button", { type: "button", id: "lay", onclick: async () => {
      const job = await studio.attempt(() => post(`${studio.base}/front`, { metric: front.metric, suppression: front.suppression, secrets: front.secrets, scheme: overlay.value, seconds: 20 }));
      if (job) watchBegun(studio, progress, job.id, (over) => over.state === "done" && studio.refresh());
    } }, "Look for up to 20 s"), h("span", { class: "note" }, studio.words.schemes[overlay.value])),
    details,
  );
  details.append(waiting("Looking at the rows"));
  pick(kept.scheme, kept.k);
  view = await draw(chart, frontChart(front, front.level.steps, Math.max(300, shown.clientWidth - 90)), title);
  view.signal("chosenk", kept.k).signal("chosenscheme", kept.scheme).runAsync();
  view.addEventListener("click", (_, item) => item?.datum?.scheme && pick(item.datum.scheme, item.datum.k));
}
