package main

import (
	"fmt"
	"testing"
)

// Seven tabs of one browser work as one does: each sends, and each sees what the others
// sent, though a browser opens six connections to a host.
func TestPageSevenTabs(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ada := o.visit(browser(t), "ada")
	ada.say("what is 1 + 1?")
	ada.answers("2")
	ada.open()
	ada.js(`(window.tabs = [window], true)`)
	for range 6 {
		ada.js(`(tabs.push(window.open(location.href)), true)`)
		ada.until(`tabs.at(-1).document.querySelector("#log-thread [data-kind]") && tabs.at(-1).document.readyState === "complete"`)
	}
	for i := range 7 {
		ada.js(fmt.Sprintf(`(tabs[%d].document.querySelector("#composer").value = "@ben from tab %d.", tabs[%d].document.querySelector("#say").requestSubmit(), true)`, i, i, i))
	}
	for i := range 7 {
		ada.until(fmt.Sprintf(`tabs.every((w) => w.document.querySelector("#log-thread").innerText.includes("from tab %d."))`, i))
	}
}
