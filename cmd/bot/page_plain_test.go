package main

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A browser that runs no script sends the page's forms as they are, and they are taken in.
func TestPageWithoutScript(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	w := o.window(browser(t))
	if _, err := chromedp.Call(w.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	w.do(chromedp.Navigate(o.link()))
	w.shows("Send")
	w.js(`(document.querySelector("#composer").value = "what is 31 + 11?", document.querySelector("#say").requestSubmit(), true)`)
	eventually(t, "the question is taken in", func() bool { return strings.Contains(w.sight(), "31 + 11") })
}

// shows waits until a text is seen, without a script of the page's.
func (w *window) shows(text string) {
	w.t.Helper()
	eventually(w.t, text+" is seen", func() bool { return strings.Contains(w.sight(), text) })
}

// js evaluates an expression in the page.
func (w *window) js(expr string) {
	w.t.Helper()
	w.holds(expr)
}

// holds says whether an expression holds now.
func (w *window) holds(expr string) bool {
	w.t.Helper()
	ok, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool](expr))
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.sight())
	}
	return ok
}
