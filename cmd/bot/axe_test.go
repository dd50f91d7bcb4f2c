package main

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axeFile is a checker of pages for people who hear or feel them, which `make deps`
// puts there.
const axeFile = "../../.deps/node_modules/axe-core/axe.min.js"

// looked has axe-core look at the page as it is, and wants no fault that it calls
// serious.
func (w *window) looked(axe, at string) {
	w.t.Helper()
	faults, err := chromedp.Run(w.ctx, chromedp.Evaluate[string](axe+`;
		axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.
			filter((v) => v.impact === "serious" || v.impact === "critical").
			map((v) => v.id + ": " + v.help + "\n" + v.nodes.map((n) => "    " + n.html + "\n    " + n.failureSummary).join("\n")).join("\n"))`,
		chromedp.EvalAwaitPromise))
	if err != nil {
		w.t.Fatal(err)
	}
	if faults != "" {
		w.t.Errorf("%s:\n%s", at, faults)
	}
}

// People who hear the page, see little of it or have no mouse can use it: axe finds
// nothing serious in any state, light or dark, wide or narrow.
func TestPageIsAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		t.Skip("axe-core is not installed (make deps, where npm is); the page is not checked by it")
	}
	o := openOffice(t)
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	look := func(w *window, at string) {
		for _, scheme := range []string{"light", "dark"} {
			w.scheme(scheme)
			w.looked(string(axe), at+", "+scheme)
		}
	}
	ada.do(chromedp.EmulateViewport(1440, 900))
	look(ada, "nothing was said")
	ada.say("what is 17% of 2340?")
	ada.answers("397.8")
	ada.until(last("steps", "done"))
	ada.click("Steps")
	look(ada, "a conversation")
	ada.say("restart service api")
	ada.until(last("approval", "waiting"))
	look(ada, "an approval that waits")
	ben.open()
	ben.until(last("approval", "waiting"))
	ben.click("Deny")
	ben.until(`document.activeElement.name === "reason"`)
	look(ben, "why it was denied")
	ben.do(chromedp.EmulateViewport(360, 700))
	look(ben, "in a narrow window")
	ben.do(chromedp.EmulateViewport(320, 256)) // 400 % of a window with 1280 pixels
	ben.until(`document.documentElement.scrollWidth <= innerWidth && document.querySelector("#log-thread").clientHeight > 60`)
	ben.hit(`document.querySelector("#log-thread .because input[name=reason]:not([type=hidden])")`)
	shoot(ben, "at 400 percent")
}

// scheme has the page look light or dark.
func (w *window) scheme(name string) {
	w.t.Helper()
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		like := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}}
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: like})
		return err
	}))
}
