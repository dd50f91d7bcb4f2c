// The slider: each move asks for the thread as it was there, and shows the newest
// answer only. Without this script the form's button does it.
"use strict";
const slider = document.querySelector("#slider");
const moment = document.querySelector("#moment");

let asked = 0;
let busy = false;

async function show() {
  if (busy) return; // the answer that is on its way looks again
  busy = true;
  try {
    while (asked) {
      const at = asked;
      asked = 0;
      const query = new URLSearchParams(location.search);
      query.set("at", at);
      const answer = await fetch("/thread?" + query + "&part=1");
      if (!answer.ok) throw new Error(answer.statusText);
      moment.innerHTML = await answer.text();
      history.replaceState(null, "", "/thread?" + query);
      moment.querySelector(".here")?.scrollIntoView({ block: "nearest" });
    }
  } catch {
    moment.textContent = "Not connected. Is nod still running?";
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
