// What changes comes by itself: the view is asked for every few seconds and only what
// differs is put in place, so that the focus and a selection stay. Each move of the
// slider asks for the thread as it was there. Without this script links and buttons do.
"use strict";
const part = document.querySelector("#part");
const slider = document.querySelector("#slider");
const moment = document.querySelector("#moment");
const said = document.querySelector("#said");
const every = 3000; // ms

function tell(text) {
  if (said.textContent !== text) said.textContent = text;
  said.hidden = !text;
}

async function ask(path, query) {
  query.set("part", 1);
  let answer;
  try {
    answer = await fetch(path + "?" + query);
  } catch {
    throw new Error("Not connected. Is nod still running? The page goes on by itself when it is back.");
  }
  if (answer.status === 403) throw new Error("A new link is needed: this browser has no access any more. “bot page link --config FILE” prints one, where nod runs.");
  if (!answer.ok) throw new Error("nod does not answer as it should. The page goes on by itself.");
  return answer.text();
}

// live is what shows the present, and so is asked for again and again.
function live() {
  const query = new URLSearchParams(location.search);
  if (document.hidden || query.has("check")) return null;
  if (part?.dataset.live === "true") return part;
  return query.has("at") ? null : moment;
}

async function poll() {
  const target = live();
  if (!target) return;
  try {
    const html = await ask(location.pathname, new URLSearchParams(location.search));
    tell("");
    if (live() !== target) return; // the slider moved meanwhile
    anew(target, html);
    document.querySelector(".when").textContent = new Date().toISOString().slice(0, 19).replace("T", " ") + " UTC";
    const last = moment?.querySelector(".moment")?.dataset.at;
    if (slider && last) {
      slider.max = slider.value = last;
      for (const id of ["entry", "last"]) document.getElementById(id).textContent = last;
    }
  } catch (e) {
    tell(e.message);
  }
}

async function go() {
  await poll();
  setTimeout(go, every);
}
setTimeout(go, every);
document.addEventListener("visibilitychange", poll);

let asked = 0;
let busy = false;

async function show() {
  if (busy) return; // the answer that is on its way looks again
  busy = true;
  try {
    while (asked) {
      const query = new URLSearchParams(location.search);
      query.set("at", asked);
      asked = 0;
      history.replaceState(null, "", "/thread?" + query);
      moment.innerHTML = await ask("/thread", query);
      tell("");
      moment.querySelector(".here")?.scrollIntoView({ block: "nearest" });
    }
  } catch (e) {
    tell(e.message);
  } finally {
    busy = false;
  }
}

if (slider) {
  slider.addEventListener("input", () => {
    document.querySelector("#entry").value = slider.value;
    asked = Number(slider.value);
    show();
  });
  moment.querySelector(".here")?.scrollIntoView({ block: "nearest" });
}
