package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// office is a program that serves the page, which a test can end and start again
// on the same store.
type office struct {
	t     *testing.T
	file  string
	state string // the folder of what it keeps, where there is no file
	addr  string // of the page; the port is chosen at the first start
	out   *buffer
	end   func()
}

// pageConfig is a team of two who have to agree on what is risky.
const pageConfig = `
store: sqlite:nod.db
tools:
  calculator:
  clock:
  chart:
  commands:
    - name: restart_service
      description: Restart one service on staging.
      parameters: {type: object, properties: {service: {type: string, enum: [api, web]}}, required: [service], additionalProperties: false}
      argv: ["echo", "restarted {service}"]
      approvals: {approvers: [anyone], exclude_requester: true}
`

func openOffice(t *testing.T) *office {
	t.Helper()
	return openOfficeAt(t, "127.0.0.1:0")
}

func openOfficeAt(t *testing.T, addr string) *office {
	t.Helper()
	o := &office{t: t, file: filepath.Join(t.TempDir(), "nod.yaml"), addr: addr}
	if err := os.WriteFile(o.file, []byte(pageConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	o.start()
	t.Cleanup(func() { o.end() })
	return o
}

// start starts the program; somebody sits at its terminal and types nothing.
func (o *office) start() {
	o.t.Helper()
	ctx, cancel := context.WithCancel(o.t.Context())
	in, typed := io.Pipe()
	o.out = &buffer{}
	env := Env{In: in, Out: o.out, Err: o.out, Getenv: func(name string) (string, bool) { return o.state, name == "XDG_STATE_HOME" }}
	args := []string{"chat", "--page", o.addr}
	if o.file != "" {
		args = append(args, "--config", o.file)
	}
	done := make(chan int, 1)
	go func() { done <- Main(ctx, args, env) }()
	o.end = sync.OnceFunc(func() {
		_ = typed.CloseWithError(io.ErrUnexpectedEOF)
		cancel()
		<-done
	})
	link := o.link()
	if strings.HasSuffix(o.addr, ":0") {
		o.addr = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(link)
	}
}

var pageLink = regexp.MustCompile(`(?m)^page: (http://\S+)$`)

// link is the newest link that was printed.
func (o *office) link() string {
	o.t.Helper()
	var all [][]string
	eventually(o.t, "a link is printed", func() bool {
		all = pageLink.FindAllStringSubmatch(o.out.String(), -1)
		return len(all) > 0
	})
	return all[len(all)-1][1]
}

// browser gives the browser of all tests; each has windows of its own. The test is
// skipped where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("chromium is not installed (make deps); the page is not looked at")
	}
	startBrowser.Do(func() {
		opts := []chromedp.ExecAllocatorOption{chromedp.WindowSize(1280, 820)}
		if os.Geteuid() == 0 {
			opts = append(opts, chromedp.NoSandbox)
		}
		ctx, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], opts...)...)
		theBrowser, stopBrowser = chromedp.NewContext(ctx)
		closeBrowser = func() { stopBrowser(); stop() }
		browserFails = chromedp.Do(theBrowser, chromedp.Navigate("about:blank"))
	})
	if browserFails != nil {
		t.Fatal(browserFails)
	}
	return theBrowser
}

var (
	startBrowser sync.Once
	theBrowser   context.Context
	stopBrowser  context.CancelFunc
	browserFails error
	closeBrowser = func() {}
)

// unreachable is what a browser says of a page that is served no more, however far its
// end has come, and that the focus is elsewhere already; that is no fault of the page.
var unreachable = regexp.MustCompile(`ERR_(CONNECTION_|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|status of (403|409|410|422|503)|Autofocus processing was blocked`)

// window is a browser of somebody's, with cookies of its own. It complains about
// whatever the page writes on the console, and whatever it loads from elsewhere.
type window struct {
	t   *testing.T
	o   *office
	ctx context.Context
}

// window opens a window; its tab lives for as long as the test.
func (o *office) window(b context.Context) *window {
	o.t.Helper()
	ctx, stop := chromedp.NewContext(b, chromedp.WithNewBrowserContext())
	o.t.Cleanup(stop)
	// A machine with much to do answers late, and no page gives up on it.
	const patient = `AbortSignal.timeout = () => new AbortController().signal`
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: patient}); err != nil {
		o.t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		o.t.Fatal(err)
	}
	return &window{o.t, o, ctx}
}

// visit opens the page by its link.
func (o *office) visit(b context.Context, as string) *window {
	o.t.Helper()
	w := o.window(b)
	ctx := w.ctx
	own := "http://" + o.addr + "/"
	said, asked := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for m, err := range said {
			if err != nil {
				return
			}
			if !unreachable.MatchString(m.Text) {
				o.t.Errorf("%s: the console says %s", as, m)
			}
		}
	}()
	go func() {
		for r, err := range asked {
			if err != nil {
				return
			}
			if !strings.HasPrefix(r.Request.URL, own) {
				o.t.Errorf("%s: the page asks for %s", as, r.Request.URL)
			}
		}
	}()
	w.enter(as)
	return w
}

// enter opens the page by the newest link, as somebody.
func (w *window) enter(as string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.o.link()))
	w.until(`document.querySelector("#you")`)
	w.do(chromedp.Navigate("http://" + w.o.addr + "/?as=" + as))
	w.until(`document.querySelector("#you").value === "` + as + `"`)
}

func (w *window) do(all ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.ctx, 3*patience)
	defer stop()
	if err := chromedp.Do(ctx, all...); err != nil {
		w.t.Fatalf("%v\n%s", err, w.sight())
	}
}

// sight is what the window shows, and what the program said.
func (w *window) sight() string {
	ctx, stop := context.WithTimeout(w.ctx, patience)
	defer stop()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		text = err.Error()
	}
	return fmt.Sprintf("the page shows:\n%s\nthe program wrote:\n%s", text, w.o.out)
}

// until waits until an expression holds in the page, once its script is at work.
func (w *window) until(expr string) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.ctx, 3*patience)
	defer stop()
	wait := fmt.Sprintf(`new Promise((ok) => {
		const look = () => { let v = false; try { v = document.readyState === "complete" && (%s); } catch {} v ? ok(true) : setTimeout(look, 20); };
		look();
	})`, expr)
	for {
		// Where the page is left meanwhile, the next one is looked at.
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
		if err == nil && ok {
			return
		}
		if ctx.Err() != nil {
			w.t.Fatalf("never: %s\n%s", expr, w.sight())
		}
	}
}

// keys types keys where the focus is, and waits until an expression holds.
func (w *window) keys(keys, until string) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(keys))
	w.until(until)
}

// last is a message of the thread: the newest of its kind, in a state.
func last(kind, state string) string {
	return fmt.Sprintf(`Array.from(document.querySelectorAll('#log-thread [data-kind="%s"]')).at(-1).matches('[data-state="%s"]')`, kind, state)
}

// answers waits until the newest answer says something, and is whole: another card takes
// the place of one that grows.
func (w *window) answers(text string) {
	w.t.Helper()
	w.until(fmt.Sprintf(`Array.from(document.querySelectorAll('#log-thread [data-kind="answer"]')).at(-1).matches(':not([data-state="growing"])') && Array.from(document.querySelectorAll('#log-thread [data-kind="answer"]')).at(-1).innerText.includes(%q)`, text))
}

// say writes a message.
func (w *window) say(text string) {
	w.t.Helper()
	w.writes(`textarea[aria-label="Message"]`, text)
	w.click("Send")
}

// writes types into the field that a selector finds.
func (w *window) writes(selector, text string) {
	w.t.Helper()
	w.do(chromedp.SendKeys(chromedp.CSS(selector), text))
	w.until(fmt.Sprintf(`document.querySelector(%q).value.includes(%q)`, selector, text))
}

// click clicks on the newest button with a label.
func (w *window) click(label string) {
	w.t.Helper()
	w.hit(fmt.Sprintf(`Array.from(document.querySelectorAll("button")).filter((e) => e.textContent.trim() === %q && !e.closest("[hidden]")).at(-1)`, label))
}

// hit clicks on what an expression finds, once a mouse would meet it: it is seen, and
// nothing lies over it. To find it and to click are one step of the page, which may
// draw it anew, or move it, at any time.
func (w *window) hit(found string) {
	w.t.Helper()
	w.until(fmt.Sprintf(`((e) => {
		if (!e?.checkVisibility()) return false;
		e.scrollIntoView({block: "nearest"});
		const r = e.getBoundingClientRect();
		if (!e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2))) return false;
		e.click();
		return true;
	})(%s)`, found))
}

// open opens the newest thread of the channel.
func (w *window) open() {
	w.t.Helper()
	w.hit(`Array.from(document.querySelectorAll("#log-channel a.opening")).at(-1)`)
	w.until(`document.querySelector("#log-thread [data-kind]")`)
}

// A conversation with a tool, and what its steps say.
func TestPageConversation(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ada := o.visit(browser(t), "ada")
	ada.until(`document.querySelector("textarea").getAttribute("aria-label") === "Message"`)
	ada.say("what is 17% of 2340?")
	ada.answers("397.8")
	ada.until(last("steps", "done"))
	ada.until(`document.querySelector("#log-thread .all").hidden`)
	ada.click("Steps")
	ada.until(`/Thought[^]*Action[^]*calculator[^]*Observation[^]*397.8/i.test(document.querySelector("#log-thread .all").innerText)`)

	// Markup in a message is shown as text.
	ada.say(`<img src=x onerror="document.title='x'"><b>b</b>`)
	ada.until(`Array.from(document.querySelectorAll('#log-thread .text')).some((e) => e.textContent.startsWith("<img src=x"))`)
	ada.until(`!document.querySelector("#log-thread b:not(.who), #log-thread img[src=x]")`)
	ada.answers("nothing that I know what to do with") // nothing comes any more that would be the newest
	shoot(ada, "conversation")

	// Keys step from message to message and explain themselves. Escape closes one thing.
	ada.js(`(document.activeElement.blur(), true)`)
	ada.keys("k", `document.activeElement === Array.from(document.querySelectorAll("#log-thread .card")).at(-1)`)
	ada.keys("k", `document.activeElement === Array.from(document.querySelectorAll("#log-thread .card")).at(-2)`)
	ada.keys("j", `document.activeElement === Array.from(document.querySelectorAll("#log-thread .card")).at(-1)`)
	ada.keys("?", `document.querySelector("#help").open`)
	ada.keys(kb.Escape, `!document.querySelector("#help").open`)
	ada.hit(`document.querySelector("#log-thread .react")`)
	ada.until(`document.querySelector("#picker").matches(":popover-open")`)
	ada.keys(kb.Escape, `!document.querySelector("#picker").matches(":popover-open")`)
	ada.writes("#composer", "half")
	ada.keys(kb.Escape, `document.activeElement === document.body && document.querySelector("#composer").value === "half"`)

	// Every control has a name for screen readers, and each element an id of its own.
	ada.until(`Array.from(document.querySelectorAll("button, a, summary, select, textarea, input:not([type=hidden])")).every((e) =>
		(e.getAttribute("aria-label") || e.textContent || e.labels[0].textContent).trim())`)
	ada.until(`new Set(Array.from(document.querySelectorAll("[id]"), (e) => e.getAttribute("id"))).size === document.querySelectorAll("[id]").length`)
	ada.keys(kb.Escape, `!document.querySelector("#log-thread")`)
}

// Who wrote a message changes it, and takes it back.
func TestPageChange(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	ada.say("whatever is 17% of 2340?")
	ada.answers("demo")
	ben.open()
	ben.until(`!document.querySelector(".change")`)
	ada.hit(`document.querySelector("#log-thread .change summary")`)
	ada.writes(`#log-thread .change textarea`, " please")
	ada.click("Save")
	ben.until(`/please/.test(document.querySelector('#log-thread [data-kind="message"]').innerText)`)
	ada.until(`!document.querySelector("#log-thread .change[open]")`)
	ada.hit(`document.querySelector("#log-thread .change summary")`)
	ada.click("Delete")
	ben.until(`document.querySelector('#log-thread [data-kind="message"]').matches('[data-state="deleted"]')`)
	ben.until(`!document.body.innerText.includes("whatever")`)
}

// An answer is seen while it is written, and stands there once when it is.
func TestPageGrows(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ada := o.visit(browser(t), "ada")
	ada.say("what is 17% of 2340?")
	ada.answers("397.8")
	ada.until(`document.querySelector('#log-thread [data-kind="answer"][data-state="done"]')`) // else the next one is put into the same turn
	ada.until(`(window.grew = 0, new MutationObserver(() => {
		window.grew += document.querySelectorAll('#log-thread [data-state="growing"]').length;
	}).observe(document.querySelector("#log-thread"), {childList: true}), true)`)
	for n := 2; n == 2 || !ada.holds(`window.grew > 0`); n++ { // on a busy machine an answer may be done before a part of it is drawn
		if n > 20 {
			t.Fatal("no answer was seen while it was written")
		}
		ada.say("what is 2 + 2?")
		ada.until(fmt.Sprintf(`Array.from(document.querySelectorAll('#log-thread [data-kind="answer"][data-state="done"]')).length === %d`, n))
	}
	ada.until(`!document.querySelector('[data-state="growing"]')`)
	ada.click("Try again")
	ada.until(`/try 1/.test(Array.from(document.querySelectorAll('#log-thread [data-state="done"]')).at(-1).querySelector(".earlier").innerText)`)
}

// A file that is attached is drawn, and the picture is seen, in a narrow window
// as well.
func TestPageChart(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ada := o.visit(browser(t), "ada")
	ada.js(`(window.hold = (name, text) => { const all = new DataTransfer(); all.items.add(new File([text], name)); return all; }, true)`)
	ada.js(`(document.querySelector("#composer").dispatchEvent(new ClipboardEvent("paste", {clipboardData: hold("visits.csv", "month,visits\n2026-01,120\n2026-02,180\n2026-03,150\n"), bubbles: true, cancelable: true})), true)`)
	ada.js(`(document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: hold("why.txt", "for ben"), bubbles: true, cancelable: true})), true)`)
	ada.until(`document.querySelector("#chosen").innerText === "visits.csv, why.txt"`)
	ada.say("please draw this")
	ada.until(`["visits.csv", "why.txt"].every((name) => document.querySelector('#log-thread [data-kind="message"]').innerText.includes(name))`)
	ada.until(`document.querySelector('#log-thread [data-kind="file"] img').naturalWidth > 100`)
	ada.answers("Here is the chart")
	shoot(ada, "chart")
	ada.do(chromedp.EmulateViewport(360, 700))
	ada.until(`document.documentElement.scrollWidth <= innerWidth`)
	ada.until(`document.querySelector("#composer").getBoundingClientRect().bottom <= innerHeight`)
	shoot(ada, "narrow")
}

// One person's call is approved by another one, in another browser, and a denied call
// does not run.
func TestPageApproval(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	ada.say("restart service api")
	ada.until(last("approval", "waiting"))
	ada.until(last("steps", "waiting"))
	ada.until(`document.querySelector("#log-thread .approve").disabled`)
	ada.until(`document.querySelector('#log-thread [data-kind="approval"]').innerText.includes("somebody who did not ask for it has to")`)
	ben.open()
	shoot(ben, "waiting")
	ben.click("Approve")
	ada.until(last("approval", "approved"))
	ada.answers("restarted api")

	ben.answers("restarted api")
	ben.do(chromedp.EmulateViewport(1280, 400))
	ben.until(`((log) => log.scrollHeight - log.clientHeight > 100 && (log.scrollTop = 0) === 0)(document.querySelector("#log-thread"))`)
	ada.say("restart service web")
	ben.until(last("approval", "waiting"))
	ben.click("new ↓")
	ben.until(`((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 2)(document.querySelector("#log-thread"))`)
	ben.js(`(document.activeElement.blur(), true)`)
	ben.keys("d", `document.activeElement.matches('#log-thread [data-state="waiting"]')`)
	ben.do(chromedp.KeyEvent("d"))
	ada.until(last("approval", "denied"))
	ada.until(`!document.querySelector("#log-thread input[name=reason]")`)
	ben.until(`document.activeElement.name === "reason"`)
	shoot(ben, "why")
	ben.writes(`input[name="reason"]:not([type=hidden])`, "too late in the day")
	ben.click("Say why")
	ada.answers("denied")
	ada.until(`Array.from(document.querySelectorAll('#log-thread [data-kind="approval"]')).at(-1).innerText.includes("Denied by ben: too late in the day")`)
	shoot(ada, "denied")

	ada.say("restart service web")
	ada.until(last("approval", "waiting"))
	ben.say("stop")
	ada.until(last("approval", "cancelled"))
	ada.answers("Stopped by ben")
}

// The demo shows what nod is for without any file: a risky command with a preview,
// which somebody else has to approve.
func TestPageDemo(t *testing.T) {
	t.Parallel()
	o := &office{t: t, addr: "127.0.0.1:0", state: t.TempDir()}
	o.start()
	t.Cleanup(func() { o.end() })
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	ada.say("deploy service api")
	ada.until(last("approval", "waiting"))
	ada.until(`document.querySelector('#log-thread [data-kind="approval"]').innerText.includes("version 7 would replace version 6")`)
	ben.open()
	shoot(ben, "preview")
	ben.click("Approve")
	ada.answers("deployed api")
	ada.say("disk_free")
	ada.js(`(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`)
	// An answer that grows is drawn anew, and its button with it: then it is pressed again.
	ada.until(`((copy) => {
		if (copy?.innerText === "Copied" && copied === copy.nextElementSibling.textContent) return true;
		copy?.click();
		return false;
	})(document.querySelector("#log-thread .copy"))`)

	// Between one person and nod nothing is suggested that takes two.
	ada.hit(`document.querySelector('#side [data-place="@nod"]')`)
	ada.until(`document.querySelectorAll(".hint").length === 4 && !document.querySelector("#hints").innerText.includes("somebody else")`)
}

// An approval outlives the program: it can be given after the next start, and by
// the page that was open all the time.
func TestPageRestart(t *testing.T) {
	t.Parallel()
	o := openOfficeAt(t, freeAddr(t)) // which is still free when it starts again
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	ada.say("restart service api")
	ada.until(last("approval", "waiting"))
	used := o.link()
	ben.js(`window.first = true`)
	o.end()
	ada.until(`!document.querySelector("#lost").hidden`)
	o.start()
	ben.until(`!window.first`) // the page is drawn by the second process
	if o.link() == used {
		t.Error("the link of the first start is there again")
	}
	ben.open() // who was let in stays so
	ben.until(last("approval", "waiting"))
	ben.click("Approve")
	ben.answers("restarted api")
}

// shoot keeps a picture of the page where NOD_PICTURES names a folder.
func shoot(w *window, name string) {
	dir := os.Getenv("NOD_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		w.t.Error(err)
	}
}

// An address that others could reach is refused before anything is served.
func TestPageAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", "example.org:80", ":8484", "x"} {
		out := &buffer{}
		env := Env{In: strings.NewReader(""), Out: out, Err: out, Getenv: func(string) (string, bool) { return "", false }}
		if status := Main(t.Context(), []string{"chat", "--page", address}, env); status != exitUsage {
			t.Errorf("%s: status %d\n%s", address, status, out)
		}
	}
}

// Nobody comes in who has not got the link.
func TestPageDoor(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	r, err := http.Get("http://" + o.addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", r.StatusCode)
	}
}
