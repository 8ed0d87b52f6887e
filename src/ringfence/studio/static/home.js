// The first page: a file or a sample becomes a project.
import { ROOT, post, send } from "./api.js";
import { problem, say } from "./dom.js";

const drop = document.getElementById("drop");
const file = document.getElementById("file");

async function open(words, asked) {
  const wait = document.getElementById("wait");
  document.getElementById("wait-words").textContent = words;
  document.getElementById("problem").replaceChildren();
  wait.hidden = false;
  say(words);
  for (const button of document.querySelectorAll("#samples button, #file")) button.disabled = true;
  try {
    const project = await asked();
    location.href = `${ROOT}p/${project.id}#table`;
  } catch (error) {
    document.getElementById("problem").replaceChildren(problem(error.message));
  } finally {
    wait.hidden = true;
    file.value = "";
    for (const button of document.querySelectorAll("#samples button, #file")) button.disabled = false;
  }
}

const load = (chosen) => open(`Looking at ${chosen.name}`, () => send(`projects?name=${encodeURIComponent(chosen.name)}`, chosen));

file.addEventListener("change", () => file.files.length && load(file.files[0]));
for (const event of ["dragover", "dragenter"]) {
  drop.addEventListener(event, (moved) => {
    moved.preventDefault();
    drop.classList.add("over");
  });
}
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (dropped) => {
  dropped.preventDefault();
  drop.classList.remove("over");
  if (dropped.dataTransfer.files.length) load(dropped.dataTransfer.files[0]);
});
for (const button of document.querySelectorAll("[data-sample]")) {
  button.addEventListener("click", () => open("Making the sample and looking at it", () => post("samples", { sample: button.dataset.sample })));
}
