// morph has an element look as another one does. What is alike stays where it stands, so
// that a selection, the focus, a half-written text and what was opened stay.
"use strict";
const alike = (n) => n.getAttribute ? [n.nodeName, ...["id", "data-id", "class", "name", "action", n.nodeName === "BUTTON" && "value"].map((a) => a && n.getAttribute(a))].join("|") : n.nodeName;

function morph(old, now) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== now.data) now.data.startsWith(old.data) ? old.appendData(now.data.slice(old.length)) : (old.data = now.data);
    return;
  }
  for (const { name } of Array.from(old.attributes)) if (!now.hasAttribute(name) && name !== "open" && name !== "tabindex") old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  let at = old.firstChild;
  for (const child of Array.from(now.childNodes)) {
    let same = at;
    while (same && alike(same) !== alike(child)) same = same.nextSibling;
    if (!same) { old.insertBefore(child, at); continue; }
    while (at !== same) { const next = at.nextSibling; at.remove(); at = next; }
    at = same.nextSibling;
    morph(same, child);
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

// anew has an element hold what HTML says.
function anew(old, html) {
  const now = old.cloneNode();
  now.innerHTML = html;
  morph(old, now);
}
