package web

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"nod/adapters/web/door"
	"nod/adapters/web/door/doortest"
	"nod/chat"
	"nod/chat/inbound"
)

// tray takes in what people do, and answers from what a test laid into it.
type tray struct {
	inbound.Inbox
	mu       sync.Mutex
	messages []chat.Message
	did      []string
	known    map[string]bool // event ids
	standing map[chat.ThreadID]chat.Standing
	past     map[chat.ThreadID][]chat.Line
	blobs    map[string][]byte
	broken   bool
}

var errBroken = errors.New("the store is away")

func (y *tray) put(what string, ids []string) (bool, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch {
	case y.broken:
		return false, errBroken
	case y.known[ids[0]]:
		return false, nil
	}
	y.known[ids[0]] = true
	y.did = append(y.did, what)
	return true, nil
}

func (y *tray) Message(_ context.Context, thread chat.ThreadID, m chat.Message, ids ...string) (bool, error) {
	fresh, err := y.put("message in "+thread.Channel+" by "+string(m.From.ID)+": "+m.Text, ids)
	if fresh {
		y.messages = append(y.messages, m)
	}
	return fresh, err
}

func (y *tray) Reaction(_ context.Context, r chat.Reaction, ids ...string) (bool, error) {
	what := r.Emoji + " by " + string(r.By.ID)
	if r.Button {
		what += " by button"
	}
	if r.Removed {
		what += " removed"
	}
	return y.put(what, ids)
}

func (y *tray) Halt(_ context.Context, _ chat.ThreadID, by chat.User, ids ...string) (bool, error) {
	return y.put("halt by "+string(by.ID), ids)
}

func (y *tray) Keep(_ context.Context, _ chat.ThreadID, data []byte) (string, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	name := "blob" + string(rune('0'+len(y.blobs)))
	y.blobs[name] = data
	return name, nil
}

func (y *tray) Blob(_ context.Context, _ chat.ThreadID, name string) ([]byte, error) {
	if data, ok := y.blobs[name]; ok {
		return data, nil
	}
	return nil, chat.ErrNoFile
}

func (y *tray) Standing(_ context.Context, thread chat.ThreadID) (chat.Standing, error) {
	return y.standing[thread], nil
}

func (y *tray) Watermarks(context.Context, string, time.Time) iter.Seq2[chat.Watermark, error] {
	return func(yield func(chat.Watermark, error) bool) {
		for thread := range y.past {
			if !yield(chat.Watermark{Thread: thread}, nil) {
				return
			}
		}
	}
}

func (y *tray) History(_ context.Context, thread chat.ThreadID) ([]chat.Line, error) {
	return y.past[thread], nil
}

// room is a page that somebody has opened.
type room struct {
	t    *testing.T
	a    *Adapter
	tray *tray
	web  http.Handler
	in   []*http.Cookie
}

func openRoom(t *testing.T) *room {
	t.Helper()
	y := &tray{known: map[string]bool{}, blobs: map[string][]byte{}, standing: map[chat.ThreadID]chat.Standing{}, past: map[chat.ThreadID][]chat.Line{}}
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	a := &Adapter{o: Options{Inbox: y, Now: func() time.Time { return at }}, board: newBoard(), mirror: make(chan struct{}, 1)}
	a.log = slog.New(slog.DiscardHandler)
	var printed []string
	a.door = door.New("127.0.0.1:8484", func(line string) { printed = append(printed, line) })
	a.door.Announce()
	r := &room{t: t, a: a, tray: y, web: a.Handler()}
	r.in = doortest.Enter(t, r.web, printed)
	return r
}

// send sends a form; the fields come in pairs.
func (r *room) send(path string, fields ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	form := url.Values{"as": {"ada"}, "id": {newID()}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return r.submit(path, "application/x-www-form-urlencoded", form.Encode())
}

func (r *room) submit(path, kind, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8484"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Origin", "http://127.0.0.1:8484")
	for _, c := range r.in {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	r.web.ServeHTTP(w, req)
	return w
}

func (r *room) get(target string) *httptest.ResponseRecorder {
	return doortest.Ask(r.web, "GET", target, r.in)
}

// Who is spoken to decides whether a message reaches the bot.
func TestWhoIsSpokenTo(t *testing.T) {
	for _, tt := range []struct {
		name, as, c, thread, text string
		standing                  chat.Standing
		want                      string // what reaches the bot; "" is nothing
	}{
		{name: "the lobby is for nod", as: "ada", c: "lobby", text: "why?", want: "why?"},
		{name: "but not what is to somebody else", as: "ada", c: "lobby", text: "@ben why?", want: ""},
		{name: "a channel is for people", as: "ada", c: "general", text: "why?", want: ""},
		{name: "a mention", as: "ben", c: "general", text: "@nod: why?", want: "why?"},
		{name: "a mention in the middle", as: "ben", c: "ops", text: "hey @nod why?", want: "hey @nod why?"},
		{name: "an address is no mention", as: "ben", c: "ops", text: "write to x@nod", want: ""},
		{name: "to nod itself", as: "cid", c: "direct", text: "why?", want: "why?"},
		{name: "a thread of one's own", as: "ada", c: "ops", thread: "thread01", text: "and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "and?"},
		{name: "a thread of somebody else's", as: "ben", c: "ops", thread: "thread01", text: "and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "and? (aside)"},
		{name: "to somebody else in it", as: "ada", c: "ops", thread: "thread01", text: "@cid and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "@cid and? (aside)"},
		{name: "to both", as: "ben", c: "ops", thread: "thread01", text: "@nod @cid and?", standing: chat.Standing{Known: true, Callers: []chat.UserID{"ada"}}, want: "@cid and?"},
		{name: "where it is muted", as: "ada", c: "ops", thread: "thread01", text: "and?", standing: chat.Standing{Known: true, Muted: true, Callers: []chat.UserID{"ada"}}, want: "and? (aside)"},
		{name: "stop, by anybody", as: "cid", c: "ops", thread: "thread01", text: "stop", standing: chat.Standing{Known: true, Running: true, Callers: []chat.UserID{"ada"}}, want: "stop"},
		{name: "a thread of people", as: "ada", c: "ops", thread: "thread01", text: "and?", want: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openRoom(t)
			r.tray.standing[threadID(tt.c, tt.thread)] = tt.standing
			if w := r.send("/say", "as", tt.as, "c", tt.c, "t", tt.thread, "text", tt.text); w.Code != http.StatusSeeOther {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			got := ""
			for _, m := range r.tray.messages {
				got += m.Text
				if m.Aside {
					got += " (aside)"
				}
			}
			if got != tt.want {
				t.Errorf("the bot got %q, want %q", got, tt.want)
			}
			if len(r.a.board.items) != 1 {
				t.Errorf("%d messages on the board", len(r.a.board.items))
			}
		})
	}
}

// Called into a thread of people, the bot is told what was said there.
func TestCalledInto(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "ops", "text", "it is slow", "id", "thread01")
	r.send("/say", "c", "ops", "t", "thread01", "as", "ben", "text", "very")
	r.send("/say", "c", "ops", "t", "thread01", "as", "cid", "text", "@nod why?")
	want := []chat.Quote{{From: People[0], Text: "it is slow"}, {From: People[1], Text: "very"}}
	if len(r.tray.messages) != 1 || !slices.Equal(r.tray.messages[0].Quoted, want) {
		t.Errorf("the bot got %+v", r.tray.messages)
	}
}

// A form that is sent twice counts once, and one that was not taken in is seen
// as that.
func TestFormTwice(t *testing.T) {
	r := openRoom(t)
	for range 2 {
		r.send("/say", "c", "lobby", "text", "why?", "id", "once-000")
	}
	if len(r.tray.did) != 1 || len(r.a.board.items) != 1 {
		t.Errorf("%q, %d on the board", r.tray.did, len(r.a.board.items))
	}
	r.tray.broken = true
	w := r.send("/say", "c", "lobby", "text", "lost?", "id", "lost-000")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "try again") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if body := r.get("/").Body.String(); !strings.Contains(body, `data-state="gone"`) {
		t.Error("a message that was not taken in looks as if it were")
	}
}

// What is out of bounds is refused with a word, and nothing of it is kept.
func TestOutOfBounds(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		fields     []string
		want       int
	}{
		{"a megabyte", "/say", []string{"text", strings.Repeat("x", 1<<20)}, 413},
		{"nothing", "/say", []string{"text", " \n\u202e "}, 400},
		{"as nobody", "/say", []string{"text", "x", "as", "eve"}, 400},
		{"as the bot", "/say", []string{"text", "x", "as", "nod"}, 400},
		{"without an id", "/say", []string{"text", "x", "id", ""}, 400},
		{"an id of another kind", "/say", []string{"text", "x", "id", "../../etc/passwd"}, 400},
		{"a reaction on nothing", "/react", []string{"emoji", "👍", "ref", "web/lobby/none"}, 404},
		{"a reaction on what is no name", "/react", []string{"emoji", "👍", "ref", "%%%"}, 400},
		{"no emoji", "/react", []string{"ref", "web/lobby/message0"}, 400},
		{"an emoji without end", "/react", []string{"emoji", strings.Repeat("👍", 100), "ref", "web/lobby/message0"}, 400},
		{"a button that is not there", "/press", []string{"what", "approve", "ref", "web/lobby/message0"}, 400},
		{"a reaction in the terminal", "/react", []string{"emoji", "👍", "ref", "terminal/local/m-1"}, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openRoom(t)
			r.send("/say", "c", "lobby", "text", "first", "id", "message0")
			r.a.restore(spoken{chat.ThreadID{Platform: "terminal", Channel: "local", Root: "main"}, chat.Line{Message: &chat.Message{Text: "x"}, Ref: chat.MessageRef{Platform: "terminal", Channel: "local", ID: "m-1"}}})
			r.tray.did = nil
			w := r.send(tt.path, tt.fields...)
			if w.Code != tt.want || len(r.tray.did) > 0 || len(r.a.board.items) != 2 {
				t.Errorf("status %d (%s), %q, %d on the board", w.Code, strings.TrimSpace(w.Body.String()), r.tray.did, len(r.a.board.items))
			}
		})
	}
}

// hostile is text that would be something else if it were let.
const hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\"'>&{{.}}<!-- [a](javascript:x) ![b](http://evil/x.png)"

// Whatever stands in a field, the page is made of its own elements only, and
// leads nowhere else.
func TestHostileTexts(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	r.send("/say", "c", "lobby", "text", hostile, "id", "message0")
	user := chat.User{ID: chat.UserID(hostile), Name: hostile}
	for i, p := range []chat.Post{
		{Text: &chat.Text{Markdown: hostile}},
		{Text: &chat.Text{Markdown: hostile, Notice: true}},
		{File: &chat.File{Name: hostile, MediaType: hostile, Blob: "b"}},
		{File: &chat.File{Name: hostile, MediaType: "image/png", Blob: "b"}},
		{Steps: &chat.Steps{Status: hostile, Items: []chat.Step{{Thought: hostile, Calls: []chat.ToolCall{{Tool: hostile, Args: hostile, Observation: strings.Repeat(hostile, 40), State: chat.CallState(hostile)}}}}}},
		{Approval: &chat.Approval{Tool: hostile, Args: hostile, Digest: hostile, Requester: user, Approvers: []string{hostile}, Why: hostile, Headline: hostile, Reason: hostile, By: []chat.User{user}, Quorum: 2, Exclude: []chat.UserID{user.ID}, Approve: []string{hostile}}},
	} {
		p.Key = string(rune('a' + i))
		ref, err := r.a.Post(t.Context(), thread, p, false)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.a.React(t.Context(), ref, hostile)
	}
	_ = r.a.Whisper(t.Context(), thread, People[0], chat.MessageRef{}, hostile)
	body := r.get("/?c=lobby&t=message0&as=ada").Body.String()
	if strings.Contains(body, "\u202e") {
		t.Error("the direction of writing can be turned")
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" && n.FirstChild != nil || n.Data == "img" && attr(n, "src") == "x" {
			t.Errorf("an element of a text: %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("an attribute %s of %s", a.Key, n.Data)
			}
			if where := attr(n, "href") + attr(n, "src"); where != "" && !strings.HasPrefix(where, "/") && !strings.HasPrefix(where, "#") && where != "http://evil/x.png" {
				t.Errorf("%s leads to %q", n.Data, where)
			}
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// Files come along with a message, and are given back as files: a browser runs
// nothing of them.
func TestFiles(t *testing.T) {
	r := openRoom(t)
	var body strings.Builder
	form := multipart.NewWriter(&body)
	for k, v := range map[string]string{"as": "ada", "c": "lobby", "id": "message0", "text": "look"} {
		_ = form.WriteField(k, v)
	}
	part, _ := form.CreateFormFile("file", "../x<y>.html")
	_, _ = part.Write([]byte("<script>1</script>"))
	_ = form.Close()
	if w := r.submit("/say", form.FormDataContentType(), body.String()); w.Code != http.StatusSeeOther {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if f := r.tray.messages[0].Files; len(f) != 1 || f[0].Name != "x_y_.html" || f[0].Blob == "" {
		t.Fatalf("files %+v", f)
	}
	w := r.get("/file?ref=web%2Flobby%2Fmessage0&n=0")
	h := w.Header()
	if w.Body.String() != "<script>1</script>" || h.Get("Content-Type") != "application/octet-stream" ||
		!strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%v %q", h, w.Body)
	}
	for _, target := range []string{"/file", "/file?ref=web/lobby/message0&n=1", "/file?ref=web/lobby/message0&n=-1", "/file?ref=x&n=0"} {
		if w := r.get(target); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", target, w.Code)
		}
	}
}

// An older version of the steps never replaces a newer one, and a repeat changes
// nothing.
func TestDrawing(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	steps := func(version uint64, status string, done bool) chat.Post {
		return chat.Post{Key: "steps", Steps: &chat.Steps{Version: version, Status: status, Done: done}}
	}
	ref, _ := r.a.Post(t.Context(), thread, steps(1, "one", false), false)
	_ = r.a.Edit(t.Context(), thread, ref, steps(3, "three", false))
	_ = r.a.Edit(t.Context(), thread, ref, steps(2, "two", false))
	if again, _ := r.a.Post(t.Context(), thread, steps(1, "one", false), true); again != ref {
		t.Errorf("posted again under %v, not %v", again, ref)
	}
	if it, _ := r.a.board.find(ref); it.post.Steps.Status != "three" {
		t.Errorf("it shows %q", it.post.Steps.Status)
	}
	before := r.a.board.changed
	_ = r.a.Edit(t.Context(), thread, ref, steps(3, "three", false))
	if r.a.board.changed != before {
		t.Error("a repeat counts as a change")
	}
	_ = r.a.Edit(t.Context(), thread, ref, steps(3, "done", true))
	_ = r.a.Edit(t.Context(), thread, ref, steps(4, "late", false))
	if it, _ := r.a.board.find(ref); it.post.Steps.Status != "done" {
		t.Errorf("it shows %q", it.post.Steps.Status)
	}
}

// Clicks on buttons are reactions, and are said to be clicks.
func TestButtons(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "ask", Approval: &chat.Approval{Tool: "x", Approve: []string{"white_check_mark", "👍"}, Deny: []string{"❌"}}}, false)
	answer, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "answer", Text: &chat.Text{Markdown: "x"}}, false)
	for _, what := range []string{"approve", "deny", "stop"} {
		r.send("/press", "ref", ref.String(), "what", what, "as", "ben")
	}
	r.send("/press", "ref", answer.String(), "what", "again")
	r.send("/react", "ref", answer.String(), "emoji", "thumbsup")
	r.send("/react", "ref", answer.String(), "removed", "👍")
	want := []string{"✅ by ben by button", "❌ by ben by button", "halt by ben", "🔄 by ada by button", "👍 by ada", "👍 by ada removed"}
	if diff := cmp.Diff(want, r.tray.did); diff != "" {
		t.Error(diff)
	}
	if it, _ := r.a.board.find(ref); len(it.reactions) != 2 {
		t.Errorf("the bot's own marks: %+v", it.reactions)
	}
}

// What the store knows is there at the start, in order, and whatever is posted
// again stands once.
func TestLoad(t *testing.T) {
	r := openRoom(t)
	thread, at := threadID("lobby", "message0"), time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	answer := chat.Post{Key: "answer", Text: &chat.Text{Markdown: "42"}}
	r.tray.past[thread] = []chat.Line{
		{At: at, Message: &chat.Message{From: People[1], Text: "why?"}, Ref: messageRef("lobby", "message0")},
		{At: at.Add(time.Second), Post: &answer, Ref: postRef(thread, "answer")},
		{At: at.Add(time.Second), Post: &chat.Post{Key: "lost", Text: &chat.Text{Markdown: "not posted yet"}}},
	}
	r.tray.past[threadID("lobby", "message1")] = []chat.Line{{At: at.Add(-time.Hour), Message: &chat.Message{From: People[0], Text: "earlier"}, Ref: messageRef("lobby", "message1")}}
	if err := r.a.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _ = r.a.Post(t.Context(), thread, answer, true)
	if len(r.a.board.items) != 3 {
		t.Errorf("%d on the board", len(r.a.board.items))
	}
	body := r.get("/?c=lobby&t=message0").Body.String()
	early, why, answered := strings.Index(body, "earlier"), strings.Index(body, "why?"), strings.Index(body, "42")
	if early < 0 || why < early || answered < why || !strings.Contains(body, "1 reply") {
		t.Errorf("at %d, %d, %d of\n%s", early, why, answered, body)
	}
}

// A browser that was away is sent what it has not seen, and one of another
// process is told to begin anew.
func TestStream(t *testing.T) {
	r := openRoom(t)
	srv := httptest.NewServer(http.HandlerFunc(r.a.events)) // the door is another test's
	t.Cleanup(srv.Close)                                    // after the streams
	thread := threadID("lobby", "message0")
	post := func(key, text string) {
		_, _ = r.a.Post(t.Context(), thread, chat.Post{Key: key, Text: &chat.Text{Markdown: text}}, false)
	}
	post("one", "first")
	since := r.a.board.mark(r.a.board.changed)
	post("two", "second")

	lines := listen(t, srv.URL+"/?c=lobby&t=message0&since="+since)
	got := lines("event: seen")
	if strings.Contains(got, "first") || !strings.Contains(got, "second") {
		t.Errorf("sent %s", got)
	}
	post("three", "third")
	r.a.Working(thread, true)
	if got := lines("data: true"); !strings.Contains(got, "third") || strings.Contains(got, "second") {
		t.Errorf("sent %s", got)
	}
	stale := listen(t, srv.URL+"/?since=other.1")
	stale("event: stale")
}

// listen gives what a stream sends, up to a line.
func listen(t *testing.T, url string) (until func(line string) string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	scan := bufio.NewScanner(resp.Body)
	return func(line string) string {
		var got strings.Builder
		for scan.Scan() {
			got.WriteString(scan.Text() + "\n")
			if scan.Text() == line {
				return got.String()
			}
		}
		t.Fatalf("never %q: %v\n%s", line, scan.Err(), got.String())
		return ""
	}
}

// why takes in reasons, too.
type why struct{ *tray }

func (y why) Reason(_ context.Context, _ chat.ThreadID, call string, by chat.User, text string, ids ...string) (bool, error) {
	return y.put(call+" denied by "+string(by.ID)+" for "+text, ids)
}

// Who denies a call is asked why, and nobody else is.
func TestReason(t *testing.T) {
	r := openRoom(t)
	r.a.o.Inbox = why{r.tray}
	thread := threadID("lobby", "message0")
	ask := chat.Post{Key: "ask", Approval: &chat.Approval{Call: "c1", Tool: "x", Deny: []string{"❌"}}}
	ref, _ := r.a.Post(t.Context(), thread, ask, false)
	if w := r.send("/why", "ref", ref.String(), "reason", "so"); w.Code != http.StatusConflict {
		t.Errorf("a reason that nobody asked for: status %d", w.Code)
	}
	r.send("/press", "ref", ref.String(), "what", "deny", "as", "ben")
	denied := *ask.Approval
	denied.Outcome, denied.By = chat.Denied, People[1:2]
	_ = r.a.Edit(t.Context(), thread, ref, chat.Post{Key: "ask", Approval: &denied})
	for as, want := range map[string]bool{"ben": true, "ada": false} {
		body := r.get("/?c=lobby&t=message0&as=" + as).Body.String()
		if strings.Contains(body, `action="/why"`) != want {
			t.Errorf("%s is asked why: %v", as, !want)
		}
	}
	if w := r.send("/why", "ref", ref.String(), "as", "ben", "reason", strings.Repeat("x", 2000)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long reason: status %d", w.Code)
	}
	r.send("/why", "ref", ref.String(), "as", "ben", "reason", "too late")
	if want := []string{"❌ by ben by button", "c1 denied by ben for too late"}; !slices.Equal(r.tray.did, want) {
		t.Errorf("did %q", r.tray.did)
	}
}
