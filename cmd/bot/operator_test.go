package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nod/chat"
	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

// desk is the operator's page of a process, opened in a browser.
func (p *process) desk(b context.Context, addr string) *window {
	p.n.t.Helper()
	t := p.n.t.(*testing.T)
	o := &office{t: t, addr: addr, out: p.out}
	w := o.window(b)
	w.do(chromedp.Navigate(pageLink.FindStringSubmatch(p.n.tells("page", "link"))[1]))
	w.until(`document.querySelector("main").dataset.view === "waiting"`)
	return w
}

// view goes to a view and waits until it shows something.
func (w *window) view(path, until string) {
	w.t.Helper()
	w.do(chromedp.Navigate("http://" + w.o.addr + path))
	w.until(until)
}

// shows is that a view holds a text.
func shows(text string) string { return fmt.Sprintf(`document.body.innerText.includes(%q)`, text) }

// Every view of the operator's page, in a browser, with two processes on one Redis:
// either shows what both do. It changes nothing.
func TestOperator(t *testing.T) {
	t.Parallel()
	b := browser(t)
	slack := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	addr, second := freeAddr(t), freeAddr(t)
	n := newService(t, slack, obedient, setup{store: redistest.Start(t).URL(), extra: "limits: {per_person_per_day: 200000}"})
	n.file = n.rewrite("first.yaml", "listen:", fmt.Sprintf("page: %q, page_texts: true, listen:", addr))
	other := *n
	other.http = freeAddr(t)
	other.file = n.rewrite("second.yaml", n.http, other.http)
	other.file = (&service{t: t, file: other.file}).rewrite("second2.yaml", addr, second)
	one, two := n.spawn(), other.spawn()
	defer one.kill()
	defer two.kill()
	n.ready()
	other.ready()

	var asked []place
	for range 6 {
		at := n.w.mention("ada", "deploy prod now")
		n.ask(at, `{"env":"prod"}`)
		asked = append(asked, at)
	}
	for _, w := range []*window{one.desk(b, addr), two.desk(b, second)} {
		w.view("/waiting", `document.querySelectorAll('[data-kind="approval"]').length === 6`)
		w.until(shows("requester"))
		w.view("/live", `document.querySelectorAll('[data-kind="turn"]').length === 6`)
		w.until(shows("Waiting for approval of deploy"))
		w.hit(`document.querySelector('[data-kind="turn"] a')`)
		w.slide()
		w.do(chromedp.EmulateViewport(320, 700))
		w.until(`document.documentElement.scrollWidth <= innerWidth`)
		w.view("/spent", shows("199"))
		w.view("/spent?by=model", `document.querySelector('[data-kind="spent"] td').innerText === "m"`)
		w.view("/health", shows("Ready"))
	}
	n.w.react("ada", n.ask(asked[0], `{"env":"prod"}`).place, "✅")
	n.find(asked[0], "The tool says")
	two.desk(b, second).view("/waiting", `document.querySelectorAll('[data-kind="approval"]').length === 5`)
	if ran := n.ran(); len(ran) != 1 {
		t.Errorf("ran %q", ran)
	}
	if strings.Contains(one.out.String(), "key=") && !pageLink.MatchString(one.out.String()) {
		t.Error("the link is not a line of its own")
	}
	foreign(t, addr)
}

// slide moves the slider of a thread from its end to its beginning.
func (w *window) slide() {
	w.t.Helper()
	w.until(`document.querySelector("#slider").value === document.querySelector("#slider").max`)
	w.until(`document.querySelector("#decision").innerText.includes("wait until")`)
	w.until(`document.querySelector("#view").innerText.includes("Approval 1: deploy")`)
	w.until(`document.querySelector("#prompt").innerText.includes("deploy prod now")`)
	move := `(() => { const s = document.querySelector("#slider"); s.value = s.min; s.dispatchEvent(new Event("input")); return true; })()`
	w.until(move)
	w.until(`document.querySelector(".moment").dataset.at === document.querySelector("#slider").min`)
	w.until(`document.querySelector("#decision").innerText.includes("call the model: call 1 of the turn")`)
	w.until(`!document.querySelector("#view").innerText.includes("Approval 1")`)
	w.until(`location.search.includes("at=")`)
}

// foreign asks for the page as other sites would.
func foreign(t *testing.T, addr string) {
	t.Helper()
	for _, header := range [][2]string{{"", ""}, {"Host", "evil.example"}, {"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/waiting", nil)
		if err != nil {
			t.Fatal(err)
		}
		if req.Header.Set(header[0], header[1]); header[0] == "Host" {
			req.Host = header[1]
		}
		if header[0] == "" {
			req.Header = http.Header{}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%v: status %d", header, resp.StatusCode)
		}
	}
}

// An address that others could reach is a mistake in the file.
func TestOperatorAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:8081", ":8081", "10.0.0.1:8081", "example.org:80"} {
		n := &service{t: t, file: filepath.Join(t.TempDir(), "nod.yaml")}
		text := fmt.Sprintf("llm: {base_url: 'http://127.0.0.1:1/v1'}\nslack: {app_token: xapp-1, bot_token: xoxb-1}\nhttp: {page: %q}\n", address)
		if err := os.WriteFile(n.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out := &buffer{}
		env := Env{In: strings.NewReader(""), Out: out, Err: out, Getenv: func(string) (string, bool) { return "", false }}
		if status := Main(t.Context(), []string{"run", "--config", n.file}, env); status != exitUsage || !strings.Contains(out.String(), "nod.yaml:3: http.page: must be a loopback address") {
			t.Errorf("%s: status %d\n%s", address, status, out)
		}
	}
}

// tab presses the key until an element has the focus.
func (w *window) tab(to string) {
	w.t.Helper()
	for range 60 {
		w.do(chromedp.KeyEvent("\t"))
		at, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool]("document.activeElement.matches("+fmt.Sprintf("%q", to)+")"))
		if err != nil {
			w.t.Fatal(err)
		}
		if at {
			return
		}
	}
	w.t.Fatalf("the key leads nowhere near %s\n%s", to, w.sight())
}

// An operator follows what goes on without a reload, filters by the keyboard, sees what
// was decided and that the log is whole, and is told when access has ended.
func TestOperatorFollows(t *testing.T) {
	t.Parallel()
	b := browser(t)
	addr := freeAddr(t)
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{extra: "limits: {per_person_per_day: 200000}"})
	n.file = n.rewrite("page.yaml", "listen:", fmt.Sprintf("page: %q, page_texts: true, listen:", addr))
	p := n.spawn()
	defer p.kill()
	n.ready()
	w := p.desk(b, addr)
	w.until(`window.stays = document.querySelector("#part") && !document.querySelector('[data-kind="approval"]')`)

	at := n.w.mention("ada", "deploy prod now")
	card := n.ask(at, `{"env":"prod"}`)
	w.until(`stays && document.querySelectorAll('[data-kind="approval"]').length === 1`)
	for _, text := range []string{"#general", "deploy prod now", "ada", "UTC"} {
		w.until(shows(text))
	}
	w.until(`document.querySelector('[data-kind="approval"] a[rel="noreferrer"]').innerText === "Open in Slack"`)
	w.until(`document.querySelector('[data-kind="approval"] a[rel="noreferrer"]').href.includes("/archives/C0GEN/p")`)
	w.tab(`input[name="tool"]`)
	w.do(chromedp.KeyEvent("zzz\r"))
	w.until(`location.search.includes("tool=zzz") && !document.querySelector('[data-kind="approval"]')`)
	w.view("/waiting?person=ada", `window.stays = document.querySelectorAll('[data-kind="approval"]').length === 1`)
	n.w.react("ada", card.place, "✅")
	n.find(at, "The tool says")
	w.until(`stays && !document.querySelector('[data-kind="approval"]')`)

	w.view("/decided", `document.querySelector('[data-kind="decision"]').dataset.state === "Approved"`)
	w.until(shows("then " + string(chat.CallDone)))
	w.tab(`[href="/decided?check=1"]`)
	w.do(chromedp.KeyEvent("\r"))
	w.until(shows("whole: "))
	w.until(`window.exported = "asked", fetch("/decided/export").then((r) => r.text()).then((t) => { window.exported = t; }), true`)
	w.until(`exported.startsWith('{"event":"header"') && exported.includes('"event":"checkpoint"')`)
	n.ask(n.w.mention("ada", "deploy prod now"), `{"env":"prod"}`)
	thread := "/thread?id=slack/T0TEAM:C0GEN/" + at.thread
	w.scan(thread)
	w.view(thread, `["model", "tool", "wait", "post"].every((kind) => document.querySelector('[data-bar="' + kind + '"]'))`)
	n.tells("page", "revoke")
	w.until(shows("A new link is needed"))
	w.until(`document.querySelector(".moment")`) // what was there stays
}

// scan looks at each view, narrow and wide, light and dark. Axe looks at one of these each.
func (w *window) scan(more string) {
	w.t.Helper()
	axe, err := os.ReadFile(axeFile)
	for i, path := range []string{"/waiting", "/decided", "/live", "/thread", "/spent?by=person", "/health", "/thread?id=nothing", more} {
		w.view(path, `document.querySelector("main")`)
		for j, width := range []int64{360, 768, 1440} {
			scheme := []string{"light", "dark"}[(i+j)%2]
			w.do(chromedp.EmulateViewport(width, 800))
			w.scheme(scheme)
			at := fmt.Sprintf("%s, %d px, %s", path, width, scheme)
			w.until(`document.documentElement.scrollWidth <= innerWidth`)
			shoot(w, strings.Map(func(r rune) rune {
				if strings.ContainsRune("/?:=, ", r) {
					return '-'
				}
				return r
			}, at))
			if err == nil && j == i%3 { // else `make deps` had no npm
				w.looked(string(axe), at)
			}
		}
	}
}
