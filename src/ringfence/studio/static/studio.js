// A project's page: what it shows is what the server says. The step stands in the address, so that a reload keeps it.
import { get, patch, post } from "./api.js";
import { h, megabytes, problem, say } from "./dom.js";
import { compareStep } from "./compare.js";
import { exploreStep } from "./explore.js";
import { hierarchiesStep } from "./hierarchies.js";
import { promiseStep } from "./promise.js";
import { publishStep } from "./publish.js";
import { tableStep } from "./table.js";

const STEPS = { table: tableStep, hierarchies: hierarchiesStep, promise: promiseStep, explore: exploreStep, compare: compareStep, publish: publishStep };
const main = document.getElementById("main");
const content = document.getElementById("content");
const base = `projects/${main.dataset.project}`;

export const studio = {
  base,
  project: null,
  words: null,
  drawn: 0,

  // Ask for something that may go wrong; what does is shown above the step.
  async attempt(asked) {
    document.getElementById("problem").replaceChildren();
    try {
      return await asked();
    } catch (error) {
      document.getElementById("problem").replaceChildren(problem(error.message));
      document.getElementById("problem").scrollIntoView({ block: "nearest" });
      return null;
    }
  },

  async change(tables, what) {
    return this.take(await this.attempt(() => patch(`${base}/spec`, { tables, what })), what);
  },

  // Show a project as the server has it now.
  take(project, what) {
    if (project) {
      this.project = project;
      if (what) say(`Done: ${what}`);
      head();
      show();
    }
    return project !== null;
  },

  async refresh() {
    return this.take(await this.attempt(() => get(base)));
  },

  role(name) {
    return this.project.spec.attributes[name]?.role ?? "insensitive";
  },

  of(...roles) {
    return Object.entries(this.project.spec.attributes).filter(([, part]) => roles.includes(part.role)).map(([name]) => name);
  },
};

function head() {
  const project = studio.project;
  document.title = `${project.name} – Ringfence Studio`;
  document.getElementById("name").textContent = project.name;
  document.getElementById("undo").disabled = project.at === 0;
  document.getElementById("redo").disabled = project.at === project.steps.length - 1;
  document.getElementById("steps").replaceChildren(
    ...project.steps.map((what, place) =>
      h("li", {}, h("button", { type: "button", "aria-current": place === project.at ? "step" : null, onclick: () => goTo(place) }, `${place + 1}. ${what}`)),
    ),
  );
  const { now, most, disk } = project.memory;
  document.getElementById("memory").textContent = `Memory of this project: ${megabytes(now)} of at most ${megabytes(most)}; files: ${megabytes(disk)} · `;
}

async function goTo(step) {
  document.getElementById("history").open = false;
  studio.take(await studio.attempt(() => post(`${base}/history/${step}`)), `step ${step + 1}`);
}

function show() {
  const step = STEPS[location.hash.slice(1)] ? location.hash.slice(1) : "table";
  for (const link of document.querySelectorAll("[data-step]")) {
    if (link.dataset.step === step) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  studio.drawn += 1;
  const focused = document.activeElement?.id;
  const place = h("div");
  STEPS[step](place, studio);
  content.replaceChildren(place);
  if (focused) document.getElementById(focused)?.focus();
}

async function start() {
  try {
    [studio.project, studio.words] = await Promise.all([get(base), get("vocabulary")]);
  } catch (error) {
    content.replaceChildren(h("h1", {}, "This project is not open"), problem(error.message), h("p", {}, h("a", { href: "/" }, "Open another table")));
    document.querySelector(".steps").hidden = document.querySelector(".tools").hidden = true;
    return;
  }
  document.getElementById("undo").addEventListener("click", () => goTo(studio.project.at - 1));
  document.getElementById("redo").addEventListener("click", () => goTo(studio.project.at + 1));
  window.addEventListener("hashchange", () => {
    document.getElementById("problem").replaceChildren();
    show();
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  });
  document.addEventListener("theme", show);
  setInterval(async () => {
    try {
      studio.project.memory = (await get(base)).memory;
      head();
    } catch {}
  }, 5000);
  head();
  show();
}

start();
