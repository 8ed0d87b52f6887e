// Long work: what it is busy with, the best so far, and the two ways to end it. It goes on when the page is closed.
import { ROOT, post, remove } from "./api.js";
import { h, percent, problem } from "./dom.js";

const STAGES = { count: "Counting the rows", compile: "Compiling for the first use", search: "Searching", rewrite: "Rewriting the rows", write: "Writing the release", audit: "Auditing it", report: "Making the report", compare: "Comparing" };

// Show a job until it is over, then call `over` with it. Whatever it tells on the way goes to `part`.
export function watch(studio, place, id, over, part = () => {}) {
  const path = `${studio.base}/jobs/${id}`;
  const panel = h("div", { class: "card", id: "job" });
  place.replaceChildren(panel);
  const events = new EventSource(`${ROOT}api/${path}/events`);
  const stop = h("button", { type: "button", id: "job-stop", onclick: () => studio.attemptNow(() => post(`${path}/stop`)) }, "Take the best so far");
  const kill = h("button", { type: "button", id: "job-kill", class: "danger", onclick: () => studio.attemptNow(() => remove(path)) }, "Stop, keep nothing");
  const stages = h("ol", { class: "stages" });
  const figures = h("p", { class: "note" });
  panel.append(h("div", { class: "row" }, h("span", { class: "spin", "aria-hidden": "true" }), h("strong", {}, "At work"), h("span", { class: "note", id: "job-time" }), stop, kill), stages, figures);
  const draw = (job) => {
    const last = job.stages.at(-1);
    panel.querySelector("#job-time").textContent = `${job.seconds.toFixed(1)} s`;
    const told = job.kind === "compare" ? job.stages.slice(-1) : job.stages; // it goes through the same stages again and again
    stages.replaceChildren(...told.map((stage, at) => h("li", {}, at < told.length - 1 ? "✓ " : "", STAGES[stage.stage] ?? stage.what)));
    stop.disabled = job.stopping || (job.kind === "compare" ? !job.parts.some((part) => part.made) : last?.stage !== "search" || last?.best === null);
    stop.hidden = job.kind.startsWith("audit"); // it has no answer before it is done
    stop.textContent = job.stopping ? "Taking the best so far" : "Take the best so far";
    figures.textContent = last?.stage === "search" ? [last.figures, last.gap !== null && last.gap !== undefined ? `at most ${percent(last.gap)} could still be saved` : ""].filter(Boolean).join("; ") : "";
  };
  const clock = setInterval(() => {
    const now = panel.querySelector("#job-time");
    if (!panel.isConnected) return end();
    now.textContent = `${(Number.parseFloat(now.textContent) + 0.1 || 0).toFixed(1)} s`;
  }, 100);
  const end = () => {
    clearInterval(clock);
    events.close();
  };
  events.onmessage = ({ data }) => {
    const job = JSON.parse(data);
    if (!panel.isConnected) return end();
    draw(job);
    part(job);
    if (job.state !== "running") {
      end();
      place.replaceChildren();
      if (job.error) place.append(job.state === "killed" ? h("p", { class: "warning" }, "Stopped. Nothing was kept.") : problem(job.error.message));
      over(job);
    }
    return undefined;
  };
  events.onerror = async () => {
    if (events.readyState === EventSource.CLOSED) {
      end();
      place.replaceChildren(problem("The studio does not answer any more."));
    }
  };
}

// Show a job that was just begun. The step may have been drawn anew while it was asked for; drawn once more, it finds the job.
export function watchBegun(studio, place, id, over, part) {
  if (place.isConnected) watch(studio, place, id, over, part);
  else studio.refresh();
}

export const running = (studio, kind) => studio.project.jobs.find((job) => job.state === "running" && job.kind.startsWith(kind));
