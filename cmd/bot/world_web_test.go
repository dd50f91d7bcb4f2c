package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
)

// webWorld is the workspace page, as browsers use it that run no script: they load
// it and send its forms.
type webWorld struct {
	t     testing.TB
	users map[string]string // name → who one is on the page

	mu      sync.Mutex
	out     *buffer
	typed   *io.PipeWriter // somebody sits at the terminal and types nothing
	browser *http.Client
	base    string            // where the page is served
	origin  string            // what the browsers say that a form comes from
	digests map[string]string // by message: what was shown last of the call that it asks for
	waits   []func()          // what people do once the page is there again
	wrong   []string
	said    int
}

func newWebWorld(t testing.TB) *webWorld {
	return &webWorld{t: t, users: map[string]string{"ada": "ada", "bob": "ben", "eve": "cid"}, digests: map[string]string{}}
}

func (w *webWorld) config() string         { return "" }
func (w *webWorld) env() map[string]string { return map[string]string{} }

// start is how the program is started.
func (w *webWorld) start() (argv []string, in io.Reader, out io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, w.typed = io.Pipe()
	w.out = &buffer{}
	return []string{"chat", "--page", "127.0.0.1:0"}, in, w.out
}

// up opens the page by its link, once that is printed, and does what waited for it.
func (w *webWorld) up() bool {
	w.mu.Lock()
	link := pageLink.FindStringSubmatch(w.out.String())
	if link == nil {
		w.mu.Unlock()
		return false
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.browser = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w.base, _, _ = strings.Cut(link[1], "/?")
	waits := w.waits
	w.waits = nil
	w.mu.Unlock()
	w.load(link[1])
	for _, do := range waits {
		do()
	}
	return true
}

// send sends a form. Where nobody serves the page, whoever sends it tries again
// when it is there.
func (w *webWorld) send(path string, form url.Values) {
	w.submit(path, "application/x-www-form-urlencoded", []byte(form.Encode()))
}

func (w *webWorld) submit(path, kind string, body []byte) {
	w.mu.Lock()
	browser, base, origin := w.browser, w.base, w.origin
	w.mu.Unlock()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Origin", origin)
	resp, err := browser.Do(req)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.waits = append(w.waits, func() { w.submit(path, kind, body) })
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusSeeOther {
		said, _ := io.ReadAll(resp.Body)
		w.wrong = append(w.wrong, fmt.Sprintf("%s %s: status %d: %s", path, body, resp.StatusCode, said))
	}
}

// load loads a page, or a file; "" where nobody serves it.
func (w *webWorld) load(address string) string {
	w.mu.Lock()
	browser := w.browser
	w.mu.Unlock()
	resp, err := browser.Get(address)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.origin = w.base
	if resp.Header.Get("Referrer-Policy") == "no-referrer" {
		w.origin = "null" // as https://fetch.spec.whatwg.org/#append-a-request-origin-header has it
	}
	return string(body)
}

// newID is the id of a form.
func (w *webWorld) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said++
	return fmt.Sprintf("form%06d", w.said)
}

// form begins a form of somebody's; the fields come in pairs.
func (w *webWorld) form(user string, fields ...string) url.Values {
	form := url.Values{"as": {w.users[user]}, "id": {w.newID()}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// say writes into a channel or a thread. The channel of a direct conversation is
// named by whose it is.
func (w *webWorld) say(user string, to place, text string) place {
	form := w.form(user, "c", to.channel, "t", to.thread, "text", text)
	at := place{to.channel, to.thread, "web/" + to.channel + "/" + form.Get("id")}
	if who, direct := strings.CutPrefix(to.channel, "dm-"); direct {
		form.Set("c", "direct")
		form.Set("as", who)
	} else if to.thread == "" {
		at.thread = form.Get("id")
	}
	w.send("/say", form)
	return at
}

func (w *webWorld) dm(user, text string) place {
	return w.say(user, place{channel: "dm-" + w.users[user]}, text)
}

func (w *webWorld) mention(user, text string) place {
	return w.say(user, place{channel: "general"}, "@nod "+text)
}

func (w *webWorld) attach(user, text, name, content string) place {
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	id := w.newID()
	for k, v := range map[string]string{"as": w.users[user], "id": id, "c": "general", "text": "@nod " + text} {
		_ = parts.WriteField(k, v)
	}
	part, err := parts.CreateFormFile("file", name)
	if err != nil {
		w.t.Fatal(err)
	}
	_, _ = part.Write([]byte(content))
	_ = parts.Close()
	w.submit("/say", parts.FormDataContentType(), body.Bytes())
	return place{"general", id, "web/general/" + id}
}

func (w *webWorld) reply(user string, to place, text string) place { return w.say(user, to, text) }

func (w *webWorld) mentionIn(user string, to place, text string) place {
	return w.say(user, to, "@nod "+text)
}

func (w *webWorld) edit(user string, at place, text string) {
	w.send("/edit", w.form(user, "ref", at.message, "text", text))
}

func (w *webWorld) remove(user string, at place) {
	w.send("/delete", w.form(user, "ref", at.message))
}

func (w *webWorld) react(user string, at place, emoji string) {
	w.mu.Lock()
	digest := w.digests[at.message]
	w.mu.Unlock()
	w.send("/react", w.form(user, "ref", at.message, "emoji", emoji, "digest", digest))
}

func (w *webWorld) unreact(user string, at place, emoji string) {
	w.send("/react", w.form(user, "ref", at.message, "removed", emoji))
}

// cards are the messages of a conversation, as somebody sees them.
func (w *webWorld) cards(user string, at place) []*html.Node {
	q, pane := url.Values{"as": {w.users[user]}, "c": {at.channel}, "t": {at.thread}}, "log-thread"
	if who, direct := strings.CutPrefix(at.channel, "dm-"); direct {
		q, pane = url.Values{"as": {who}, "c": {"direct"}}, "log-channel"
	} else if at.channel == "terminal" {
		pane = "log-channel"
	}
	doc, err := html.Parse(strings.NewReader(w.load(w.base + "/?" + q.Encode())))
	if err != nil {
		w.t.Fatal(err)
	}
	var out []*html.Node
	for n := range doc.Descendants() {
		if n.Data == "article" && inside(n, pane) {
			out = append(out, n)
			w.note(n)
		}
	}
	return out
}

// note keeps in mind which call a card shows, as the page does in its forms.
func (w *webWorld) note(card *html.Node) {
	ref := ""
	for n := range card.Descendants() {
		switch {
		case has(n, "name", "ref"):
			ref = attribute(n, "value")
		case has(n, "name", "digest"):
			w.mu.Lock()
			w.digests[ref] = attribute(n, "value")
			w.mu.Unlock()
		}
	}
}

// inside says whether an element stands in another one.
func inside(n *html.Node, id string) bool {
	for p := range n.Ancestors() {
		if has(p, "id", id) {
			return true
		}
	}
	return false
}

func has(n *html.Node, key, value string) bool {
	return slices.Contains(n.Attr, html.Attribute{Key: key, Val: value})
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// read gives what a reader sees of a message, and which one it is.
func (w *webWorld) read(card *html.Node) (text, ref, file string) {
	var b strings.Builder
	for n := range card.Descendants() {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case has(n, "name", "ref"):
			ref = attribute(n, "value")
		case n.Data == "a" && strings.HasPrefix(attribute(n, "href"), "/file?"):
			file = w.load(w.base + attribute(n, "href"))
		case n.Data == "br", n.Data == "p":
			b.WriteByte('\n')
		}
	}
	return b.String(), ref, file
}

func (w *webWorld) posts(at place) []post {
	var out []post
	for _, c := range w.cards("ada", at) {
		state := attribute(c, "data-state")
		if attribute(c, "data-kind") == "message" || state == "growing" || state == "private" {
			continue
		}
		text, ref, file := w.read(c)
		out = append(out, post{place: place{at.channel, at.thread, ref}, text: text, file: file})
	}
	return out
}

// open is nothing to do: the steps are in the page, folded.
func (w *webWorld) open(_ string, steps post) string { return steps.text }

func (w *webWorld) told(user string, at place) []string {
	var out []string
	for _, c := range w.cards(user, at) {
		if has(c, "data-state", "private") {
			text, _, _ := w.read(c)
			out = append(out, text)
		}
	}
	return out
}

func (w *webWorld) reactions(at place) []string {
	var out []string
	for _, c := range w.cards("ada", at) {
		if _, ref, _ := w.read(c); ref != at.message {
			continue
		}
		for n := range c.Descendants() {
			if n.Data == "button" && slices.Contains(strings.Split(attribute(n, "title"), ", "), "nod") {
				out = append(out, attribute(n, "value"))
			}
		}
	}
	slices.Sort(out)
	return out
}

// ballot is empty: buttons stand in its place.
func (w *webWorld) ballot() []string { return nil }

func (w *webWorld) approver(user string) string { return "user:" + w.users[user] }

// cut ends the connections of the browsers.
func (w *webWorld) cut() { w.browser.CloseIdleConnections() }

// Nobody stalls the page: the board is in the program.
func (w *webWorld) calls() int { return 0 }

func (w *webWorld) stall(int, bool) (struck func() bool, release func()) {
	return func() bool { return false }, func() {}
}

func (w *webWorld) faults() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.typed != nil {
		_ = w.typed.Close()
	}
	return w.wrong
}

// The rules of the other platforms hold on the page.
func TestWeb(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T) world { return newWebWorld(t) })
}
