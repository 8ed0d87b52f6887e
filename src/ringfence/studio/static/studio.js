// A project's page: what it shows is what the server says. The step stands in the address, so that a reload keeps it.
import { ROOT, get, patch, post } from "./api.js";
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

let last = Promise.resolve(null);
let waiting = 0;

export const studio = {
  base,
  project: null,
  words: null,
  drawn: 0,

  // Ask for something that may go wrong; what does is shown above the step. One is asked after the other, so that the
  // server does them in the order in which somebody wanted them, and the page shows what came of the last.
  attempt(asked) {
    waiting += 1;
    main.setAttribute("aria-busy", "true");
    const answer = last.then(() => this.attemptNow(asked)).finally(() => {
      waiting -= 1;
      if (!waiting) main.removeAttribute("aria-busy");
    });
    last = answer;
    return answer;
  },

  async attemptNow(asked) {
    document.getElementById("problem").replaceChildren();
    try {
      return await asked();
    } catch (error) {
      document.getElementById("problem").replaceChildren(problem(error.message));
      document.getElementById("problem").scrollIntoView({ block: "nearest" });
      return null;
    }
  },

  // `tables` takes the specification and says what becomes of it, when those who asked before have got their answers.
  async change(tables, what) {
    return this.take(await this.attempt(() => patch(`${base}/spec`, { tables: tables(this.project.spec), what })), what);
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
      h("li", {}, h("button", { type: "button", "aria-current": place === project.at ? "step" : null, onclick: () => goTo(() => place) }, `${place + 1}. ${what}`)),
    ),
  );
  memory();
}

function memory() {
  const { now, most, disk } = studio.project.memory;
  document.getElementById("memory").textContent = `Memory of this project: ${megabytes(now)} of at most ${megabytes(most)}; files: ${megabytes(disk)} · `;
}

async function goTo(step) {
  document.getElementById("history").open = false;
  const found = await studio.attempt(() => post(`${base}/history/${step(studio.project.at)}`));
  studio.take(found, `step ${(found?.at ?? 0) + 1}`);
}

function show() {
  const step = STEPS[location.hash.slice(1)] ? location.hash.slice(1) : "table";
  for (const link of document.querySelectorAll("[data-step]")) {
    if (link.dataset.step === step) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const drawn = (studio.drawn += 1);
  const focused = document.activeElement?.id;
  const again = content.dataset.shown === step;
  const scrolled = again ? content.querySelector(".tree")?.scrollTop : 0;
  content.dataset.shown = step;
  content.style.minHeight = again ? `${content.offsetHeight}px` : ""; // nothing jumps while the rest is fetched
  const place = h("div");
  const later = STEPS[step](place, studio);
  content.replaceChildren(place);
  const settle = () => {
    if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({ preventScroll: true });
    const tree = content.querySelector(".tree");
    if (tree && scrolled) tree.scrollTop = scrolled;
    for (const tab of content.querySelectorAll(".tabs [aria-pressed=true]")) tab.parentElement.scrollTop = tab.offsetTop - tab.offsetHeight;
  };
  settle();
  Promise.resolve(later).then(() => {
    if (drawn !== studio.drawn) return;
    settle();
    content.style.minHeight = "";
  });
}

async function start() {
  try {
    [studio.project, studio.words] = await Promise.all([get(base), get("vocabulary")]);
  } catch (error) {
    content.replaceChildren(h("h1", {}, "This project is not open"), problem(error.message), h("p", {}, h("a", { href: ROOT }, "Open another table")));
    document.querySelector(".steps").hidden = document.querySelector(".tools").hidden = true;
    return;
  }
  document.getElementById("undo").addEventListener("click", () => goTo((at) => at - 1));
  document.getElementById("redo").addEventListener("click", () => goTo((at) => at + 1));
  window.addEventListener("hashchange", async () => {
    document.getElementById("problem").replaceChildren();
    if (!(await studio.refresh())) show(); // work that another step began may be over, or still be under way
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  });
  document.addEventListener("theme", show);
  setInterval(async () => {
    try {
      studio.project.memory = (await get(base)).memory;
      memory();
    } catch {}
  }, 5000);
  head();
  show();
}

start();
