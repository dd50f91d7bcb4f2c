package operator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/speak"
	"nod/agent/view"
	"nod/chat"
	"nod/internal/doortest"
	"nod/llm"
	"nod/memory"
	"nod/memory/sqlite"
	"nod/spending"
)

// office is a page on a store, with somebody who was let in.
type office struct {
	t     testing.TB
	store *sqlite.Store
	page  *Page
	web   http.Handler
	in    []*http.Cookie
}

var brain = &agent.Agent{
	Instructions: "Be brief.", Protocol: speak.NativeTools{}, MaxSteps: 5, Model: "gpt", Prices: &view.Prices{Input: 1, Cached: 0.5, Output: 2},
	Tools: []policy.Tool{{Tool: llm.Tool{Name: "deploy", Parameters: []byte(`{"type":"object"}`)}, Risk: policy.Ask, Rules: rules}},
}

var rules = memory.Rules{Approvers: []string{"group:S012"}, Quorum: 2, Timeout: time.Hour, Approve: []string{"✅"}, Deny: []string{"❌"}}

func openOffice(t testing.TB, change func(*Options)) *office {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "nod.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var printed []string
	o := Options{
		Address: "127.0.0.1:0", Store: store, Threads: store, Platforms: []string{"slack"}, Agent: func() *agent.Agent { return brain },
		Health: func(context.Context) map[string]any {
			return map[string]any{"ready": false, "store": "ok", "slack": "not connected"}
		},
		Mask: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.listens.Close() })
	p.o.Print = func(line string) { printed = append(printed, line) }
	p.door = p.newDoor("127.0.0.1:8484")
	p.door.Announce(t.Context())
	w := &office{t: t, store: store, page: p, web: p.Handler()}
	w.in = doortest.Enter(t, w.web, printed)
	return w
}

// get asks for a view.
func (o *office) get(target string) string {
	o.t.Helper()
	r := doortest.Ask(o.web, "GET", target, o.in)
	if r.Code != http.StatusOK {
		o.t.Fatalf("%s: status %d: %s", target, r.Code, r.Body)
	}
	return r.Body.String()
}

// write puts a message into a thread's inbox and, as a run, commits entries behind it.
func (o *office) write(thread chat.ThreadID, text string, bodies ...memory.Body) {
	o.t.Helper()
	ctx := o.t.Context()
	m := memory.Message{Message: chat.Message{From: chat.User{ID: "U1", Name: "ada"}, Text: text, Ref: chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: thread.Root + text}}}
	if _, err := o.store.Put(ctx, thread, m, "e"+thread.String()+text); err != nil {
		o.t.Fatal(err)
	}
	held, err := o.store.Next(ctx, thread.Platform)
	if err != nil {
		o.t.Fatal(err)
	}
	for {
		if _, err := o.store.Commit(ctx, held, bodies...); err != nil {
			o.t.Fatal(err)
		}
		bodies = nil
		more, err := o.store.Finish(ctx, held, time.Time{})
		if err != nil {
			o.t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

func threadOf(n int) chat.ThreadID {
	return chat.ThreadID{Platform: "slack", Channel: fmt.Sprintf("C%d", n%50), Root: fmt.Sprint(n)}
}

// ask writes a thread in which an approval waits.
func (o *office) ask(n int) chat.ThreadID {
	thread := threadOf(n)
	o.write(thread, "deploy, the password is hunter2")
	o.write(
		thread, "quickly",
		memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "U1", Name: "ada"}},
		memory.Step{Turn: 1, N: 1, Seen: 1, Model: "gpt", Thought: "I deploy with hunter2", Usage: llm.Usage{Prompt: 1000, Cached: 400, Completion: 50}, Calls: []memory.Call{{ID: "1-1-1", Tool: "deploy", Args: `{"key":"hunter2"}`, Object: true}}},
		memory.Asked{Call: "1-1-1", Tool: "deploy", Number: 7, Digest: strings.Repeat("ab", 32), Requester: chat.User{ID: "U1", Name: "ada"}, Rules: rules},
		memory.Posted{Key: memory.PostKey(memory.AskName("1-1-1"), "x"), Ref: chat.MessageRef{Platform: "slack", Channel: thread.Channel, ID: "ask" + thread.Root}},
	)
	return thread
}

func holds(t testing.TB, page string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("the page lacks %q:\n%s", w, page)
		}
	}
}

func TestWaiting(t *testing.T) {
	o := openOffice(t, nil)
	holds(t, o.get("/waiting"), "No approval waits")
	for n := range pageSize + 1 {
		o.ask(n)
	}
	first := o.get("/waiting")
	holds(t, first, "7: deploy", "group:S012, 2 of them", "ada", "abababababab", `href="/waiting?page=1"`)
	if n := strings.Count(first, `data-kind="approval"`); n != pageSize {
		t.Errorf("%d approvals on a page", n)
	}
	second := o.get("/waiting?page=1")
	if n := strings.Count(second, `data-kind="approval"`); n != 1 || strings.Contains(second, `rel="next"`) {
		t.Errorf("%d approvals on the second page", n)
	}
}

// Lists name people and channels, begin with the question, and lead to the platform;
// a filter stands in the address.
func TestListsNameThings(t *testing.T) {
	o := openOffice(t, func(o *Options) { guided(o); o.Texts = true; o.Platforms = []string{"slack", "discord"} })
	o.ask(1)
	second := o.ask(2)
	o.write(second, "yes", memory.Vote{Call: "1-1-1", By: chat.User{ID: "U9", Name: "ben"}, Emoji: "✅", Verdict: memory.Approve, Counts: true})
	holds(t, o.get("/waiting"), "@ops, 2 of them", "#general", "slack/C1/1", "<q>deploy, the password is ***</q>", `href="https://w.slack.com/C1/ask1"`, "Open in Slack", " UTC")
	holds(t, o.get("/live"), "#general", "<q>deploy, the password is ***</q>", "Open in Slack")
	holds(t, o.get("/thread"), "#general", "#random")
	for query, want := range map[string]int{
		"": 2, "person=ben": 1, "person=ADA": 2, "state=some+approved": 1, "state=nobody+yet": 1,
		"tool=dep": 2, "tool=x": 0, "platform=discord": 0, "platform=slack&tool=deploy": 2,
	} {
		page := o.get("/waiting?" + query)
		if n := strings.Count(page, `data-kind="approval"`); n != want {
			t.Errorf("/waiting?%s shows %d approvals, want %d", query, n, want)
		}
		if n := strings.Count(o.get("/waiting?part=1&"+query), `data-kind="approval"`); n != want {
			t.Errorf("a poll of /waiting?%s shows %d approvals, want %d", query, n, want)
		}
	}
	holds(t, o.get("/waiting?person=ben&state=some+approved"), `value="ben"`, "<option selected>some approved</option>", "Of 2 that the filter looked at")
	for query, want := range map[string]int{"state=at+work": 0, "state=waits+for+people": 2, "person=ada": 2, "person=ben": 0, "platform=discord": 0} {
		if n := strings.Count(o.get("/live?"+query), `data-kind="turn"`); n != want {
			t.Errorf("/live?%s shows %d turns, want %d", query, n, want)
		}
	}
	long := openOffice(t, func(o *Options) { o.Texts = true })
	if quiet := openOffice(t, guided); strings.Contains(quiet.get(threadURL(quiet.ask(1), 0)), "<q>") || strings.Contains(quiet.get("/waiting"), "<q>") {
		t.Error("a page without texts shows a question")
	}
	if got := long.page.question(strings.Repeat("é", mostQuestion+1)); got != strings.Repeat("é", mostQuestion)+"…" {
		t.Errorf("a long question is shown as %q", got)
	}
}

func TestLive(t *testing.T) {
	o := openOffice(t, nil)
	o.ask(1)
	o.write(threadOf(2), "hello", memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "U2"}}, memory.Step{Turn: 1, N: 1, Seen: 1, Answer: "hi"}, memory.Posted{Key: "answer/1", Ref: chat.MessageRef{Platform: "slack", Channel: "C2", ID: "a"}}, memory.Ended{Turn: 1})
	page := o.get("/live")
	holds(t, page, "Waiting for approval of deploy", "slack/C1/1", "Of the 2 threads")
	if strings.Contains(page, "slack/C2/2") {
		t.Error("a thread without a turn is live")
	}
}

// A turn is live from its first model call on, behind which nothing is committed yet.
func TestLiveAtOnce(t *testing.T) {
	o := openOffice(t, nil)
	for i, text := range []string{"hello", "help"} {
		thread := threadOf(i + 1)
		ref := chat.MessageRef{Platform: "slack", Channel: thread.Channel, ID: "1"}
		m := memory.Message{Message: chat.Message{From: chat.User{ID: "U1", Name: "ada"}, Text: text, Ref: ref}}
		if _, err := o.store.Put(t.Context(), thread, m, "e"+text); err != nil {
			t.Fatal(err)
		}
	}
	page := o.get("/live")
	holds(t, page, "slack/C1/1", "Thinking", "ada", "Of the 2 threads")
	if strings.Contains(page, "slack/C2/2") {
		t.Error("a word that opens no turn is live")
	}
}

// A view of a thread is package agent's view of the log up to there, without texts
// unless asked for, and never with a secret.
func TestThread(t *testing.T) {
	o := openOffice(t, nil)
	thread := o.ask(1)
	end := o.get(threadURL(thread, 0))
	holds(t, end, `max="6"`, `value="6"`, "Approval 7: deploy", "approval 7 of deploy, by group:S012", "note decided, result", "turn 1, asked by ada", `data-at="6"`, `data-bar="post"`)
	begin := o.get(threadURL(thread, 1) + "&part=1")
	holds(t, begin, `data-at="1"`, "call the model: call 1 of the turn", "(31 characters)")
	if strings.Contains(begin, "Approval 7") || strings.Contains(begin, "<html") {
		t.Error("the beginning shows what came later, or the whole page")
	}
	for _, page := range []string{end, begin, o.get("/waiting"), o.get("/spent"), o.get("/live")} {
		for _, word := range []string{"hunter2", "password", "quickly", "I deploy", "Be brief"} {
			if strings.Contains(page, word) {
				t.Errorf("a page without texts shows %q", word)
			}
		}
	}
	roomy := *brain
	roomy.Rooms = map[string]agent.Room{"slack:C1": {Instructions: "Here be kind.", Without: map[string]bool{"deploy": true}}}
	texts := openOffice(t, func(o *Options) { o.Texts, o.Agent = true, func() *agent.Agent { return &roomy } })
	thread = texts.ask(1)
	page := texts.get(threadURL(thread, 1))
	holds(t, page, "deploy, the password is ***", "Be brief.", "Here be kind.")
	if strings.Contains(page, "Tools: ") {
		t.Error("a room's thread is shown with a tool that is not there")
	}
	for _, page := range []string{page, texts.get(threadURL(thread, 0)), texts.get("/waiting")} {
		if strings.Contains(page, "hunter2") {
			t.Error("a page shows a secret")
		}
	}
}

// A thread that goes on, and one that is forgotten, are shown as they are now.
func TestThreadGoesOn(t *testing.T) {
	o := openOffice(t, func(o *Options) { o.Texts = true })
	thread := o.ask(1)
	holds(t, o.get(threadURL(thread, 0)), `max="6"`, "quickly")
	o.write(thread, "more to come")
	holds(t, o.get(threadURL(thread, 0)), `max="7"`, "more to come")
	o.write(thread, "forget", memory.Forgot{By: chat.User{ID: "U1"}, Before: 8})
	if page := o.get(threadURL(thread, 0)); strings.Contains(page, "more to come") || strings.Contains(page, "quickly") {
		t.Error("what was forgotten is shown")
	}
}

func TestThreads(t *testing.T) {
	o := openOffice(t, nil)
	holds(t, o.get("/thread?id=slack/C9/9"), "Nothing is kept of slack/C9/9")
	for n := range pageSize + 5 {
		o.write(threadOf(n), "hello")
	}
	first := o.get("/thread")
	if n := strings.Count(first, `data-kind="thread"`); n != pageSize {
		t.Errorf("%d threads on a page", n)
	}
	_, rest, _ := strings.Cut(first, `rel="next" href="`)
	next, _, _ := strings.Cut(rest, `"`)
	if n := strings.Count(o.get(strings.ReplaceAll(next, "&amp;", "&")), `data-kind="thread"`); n != 5 {
		t.Errorf("%d threads on the second page", n)
	}
	for link, want := range map[string]string{
		"https://w.slack.com/archives/C7/p7?thread_ts=7.0": "no thread is found",
		"C7":                     "slack/C7/7",
		"x":                      "no thread is found",
		"https://example.org/C7": "no thread is found",
		"https://discord.com/channels/1/999999/3": "no thread is found",
	} {
		r := doortest.Ask(o.web, "GET", "/thread?id="+url.QueryEscape(link), o.in)
		holds(t, r.Body.String(), want, "aria-label=\"Views\"", `value="`+link+`"`)
	}
	slack := chat.ThreadID{Platform: "slack", Channel: "T0:C0OPS", Root: "1795614447.236046"}
	o.write(slack, "hello")
	for _, link := range []string{"https://w.slack.com/archives/C0OPS/p1795614447236046", "https://w.slack.com/archives/C0OPS/p1795614999000000?thread_ts=1795614447.236046&cid=C0OPS", "1795614447.236046"} {
		page := o.get("/thread?id=" + url.QueryEscape(link))
		if holds(t, page, slack.String()); strings.Count(page, `data-kind="thread"`) != 1 {
			t.Errorf("%s finds more than one thread", link)
		}
	}
	for _, target := range []string{"/thread?id=x", "/thread?id=slack/C1/1&at=x", "/live?after=x&touched=1", "/waiting?page=-1"} {
		if r := doortest.Ask(o.web, "GET", target, o.in); r.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", target, r.Code)
		}
	}
}

func TestSpent(t *testing.T) {
	limits := run.Limits{Person: run.Limit{Tokens: 5000}, Thread: run.Limit{Tokens: 3000}, All: run.Limit{Money: 20}, Prices: brain.Prices}
	o := openOffice(t, func(o *Options) { guided(o); o.Limits = limits })
	o.ask(1)
	o.ask(2)
	day := time.Now().UTC().Format(time.DateOnly)
	for _, name := range []string{"person/slack/U1", "thread/slack/C1/1"} {
		if _, err := o.store.Count(t.Context(), "used/"+day+"/"+name, 2100, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.store.Count(t.Context(), "used/"+day+"/all", 1_500_000, time.Hour); err != nil {
		t.Fatal(err)
	}
	holds(t, o.get("/spent"), "<td>ada<br><small>slack/U1</small></td>", `<td class="n">2,000</td><td class="n">800</td><td class="n">100</td>`, "5,000 tokens", "2,900 tokens", "42 %", `width="42"`, "$20", "$18.50")
	holds(t, o.get("/spent?by=thread"), "slack/C1/1", `<td class="n">1,000</td>`, "3,000 tokens", "900 tokens", "70 %")
	holds(t, o.get("/spent?by=channel"), "#general", "#random", `width="100"`)
	table := o.get("/spent?by=person&format=csv")
	if want := "day,person,name,tokens_in,tokens_cached,tokens_out,money,limit,left\n" + day + `,slack/U1,ada,2000,800,100,0.001800,"5,000 tokens","2,900 tokens"` + "\n"; table != want {
		t.Errorf("the table is %q, want %q", table, want)
	}
	holds(t, o.get("/spent?by=channel&format=csv"), "slack/C1,#general,1000")
	report := func(by, format string, days int) string {
		var out strings.Builder
		if err := Report(t.Context(), o.page.o, by, format, time.Now().AddDate(0, 0, 1-days), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := report("person", "csv", 1); got != table {
		t.Errorf("the command's table is %q, and the page's %q", got, table)
	}
	holds(t, report("model", "csv", 30), "/"+day+",gpt,,2000,800,100")
	holds(t, report("person", "json", 30), `"person": "slack/U1"`, `"tokens_in": 2000`, `"money": 0.001800`, `"left": "2,900 tokens"`)
	if text := strings.Join(strings.Fields(report("person", "text", 1)), " "); text != "person name tokens_in tokens_cached tokens_out money limit left "+
		"slack/U1 ada 2000 800 100 0.001800 5,000 tokens 2,900 tokens all 2000 800 100 0.001800 $20.00 $18.50" {
		t.Errorf("the text is %q", text)
	}
	holds(t, o.get("/spent?by=model"), "<td>gpt</td>", `<td class="n">2,000</td>`)
	holds(t, o.get("/spent?by=day"), "<td>"+day+"</td>")
	holds(t, o.get("/spent?day=2020-01-01"), `<td class="n">0</td>`)
	o.write(threadOf(1), "on", memory.Step{Turn: 1, N: 2, Model: "other", Usage: llm.Usage{Prompt: 1}})
	holds(t, o.get("/spent?by=model"), "<td>other</td>")
}

// A day that is over for the view is not shown because a sum of it was kept since.
func TestSpentLater(t *testing.T) {
	o := openOffice(t, nil)
	v := spent{By: "day", From: "2026-11-02", To: "2026-11-08"}
	of := spending.Of{}
	for _, day := range []string{"2026-11-01", "2026-11-02", "2026-11-08", "2026-11-09"} {
		of[spending.Use{Day: day}] = llm.Usage{Prompt: 1}
	}
	rows := o.page.rows(&v, map[chat.ThreadID]spending.Of{threadOf(1): of})
	if len(rows) != 2 || rows[0].Name != v.To || rows[1].Name != v.From || v.Total.In != 2 {
		t.Errorf("the view of %s to %s holds %+v", v.From, v.To, rows)
	}
}

// A model calls by any name, and one that is a text is shown as texts are.
func TestTextAsName(t *testing.T) {
	o := openOffice(t, nil)
	thread := threadOf(1)
	o.write(
		thread, "hello",
		memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "U1", Name: "ada"}},
		memory.Step{Turn: 1, N: 1, Seen: 1, Calls: []memory.Call{{ID: "1-1-1", Tool: "tell ada of the merger", Args: "{}", Object: true}, {ID: "1-1-2", Tool: "deploy", Args: "{}", Object: true}}},
		memory.Result{Call: "1-1-1", Tool: "tell ada of the merger", State: chat.CallFailed, Text: "there is no such tool"},
	)
	for at := range uint64(5) {
		page := o.get(threadURL(thread, at))
		if strings.Contains(page, "merger") {
			t.Errorf("a page without texts shows one at %d:\n%s", at, page)
		}
		if at == 3 {
			holds(t, page, "→ (22 characters) → deploy")
		}
	}
	texts := openOffice(t, func(o *Options) { o.Texts = true })
	texts.write(thread, "hello", memory.Opened{Turn: 1, Name: "1"}, memory.Step{Turn: 1, N: 1, Seen: 1, Calls: []memory.Call{{ID: "1-1-1", Tool: "tell ada of the merger", Args: "{}", Object: true}}})
	holds(t, texts.get(threadURL(thread, 0)), "tell ada of the merger")
}

func TestHealth(t *testing.T) {
	o := openOffice(t, func(o *Options) { o.Facts = [][2]string{{"version", "1.2"}} })
	holds(t, o.get("/health"), "Not ready", "not connected", "<th>store</th><td>ok</td>", "1.2")
	holds(t, o.get("/spent?page=4000000000000000001"), `rel="prev"`) // far behind the last one
}

// The facts of each channel that has some are listed with its health, by their authors;
// what they say is shown as other texts are.
func TestFacts(t *testing.T) {
	note := func(o *office, channel, source string) {
		if err := memory.ChangeBook(t.Context(), o.store, "slack:"+channel, func(b *memory.Book) []*memory.Fact {
			for _, text := range []string{"on " + channel, "the <b>password</b>\nis hunter2"} {
				b.Add(memory.Fact{In: chat.ThreadID{Platform: "slack", Channel: channel, Root: "1"}, ID: text, Text: text, By: chat.User{ID: "U1", Name: "ada"}, Source: source}, 50)
			}
			gone, _ := b.Drop(1, "forgotten")
			return []*memory.Fact{gone}
		}); err != nil {
			t.Fatal(err)
		}
	}
	o := openOffice(t, func(o *Options) { guided(o); o.Texts = true })
	note(o, "C1", "https://x.example")
	page := o.get("/health")
	holds(t, page, "#general", "slack/C1/1", "2: &#34;the &lt;b&gt;password&lt;/b&gt; is ***&#34; (ada, 1 January 0001), written down when the model had seen https://x.example")
	if strings.Contains(page, "on C1") || strings.Contains(page, `rel="next"`) {
		t.Errorf("health: %s", page)
	}
	ada := chat.User{ID: "U1", Name: "ada"}
	o.write(threadOf(1), "hello", memory.Remembered{Number: 2, By: ada}, memory.Remembered{Number: 1, By: ada, Forgot: true}, memory.Remembered{By: ada, Refused: "it is too long"})
	holds(t, o.get(threadURL(threadOf(1), 0)), "ada → remember 2", "ada → forget fact 1", "it is too long")
	quiet := openOffice(t, nil)
	note(quiet, "C1", "https://x.example")
	before, _ := quiet.store.Noted(t.Context(), "facts")
	if done, err := quiet.store.Swap(t.Context(), "facts", before, []byte(strings.Repeat("slack:C3\n", pageSize)+string(before))); !done || err != nil {
		t.Fatal(err)
	}
	holds(t, quiet.get("/health"), `href="/health?page=1"`)
	if page := quiet.get("/health?page=1"); !strings.Contains(page, "2: &#34;(30 characters)&#34; (ada, ") || strings.Contains(page, "password") || strings.Contains(page, "example") {
		t.Errorf("a page without texts: %s", page)
	}
}

// Nothing on the page changes anything, and nobody comes in from elsewhere.
func TestDoor(t *testing.T) {
	o := openOffice(t, nil)
	for _, c := range []struct {
		method, target string
		header         []string
		want           int
	}{
		{"GET", "/", nil, http.StatusSeeOther},
		{"GET", "/waiting", []string{"Host", "evil.example"}, http.StatusForbidden},
		{"GET", "/waiting", []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		{"GET", "/live", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"POST", "/waiting", []string{"Origin", "http://127.0.0.1:8484"}, http.StatusMethodNotAllowed},
		{"DELETE", "/thread", []string{"Origin", "http://127.0.0.1:8484"}, http.StatusMethodNotAllowed},
		{"GET", "/nothing", nil, http.StatusNotFound},
	} {
		if r := doortest.Ask(o.web, c.method, c.target, o.in, c.header...); r.Code != c.want {
			t.Errorf("%s %s %v: status %d", c.method, c.target, c.header, r.Code)
		}
	}
	for _, view := range views {
		if r := doortest.Ask(o.web, "GET", "/"+view, nil); r.Code != http.StatusForbidden {
			t.Errorf("/%s without a key: status %d", view, r.Code)
		}
	}
	if _, err := New(Options{Address: "0.0.0.0:0", Store: o.store, Threads: o.store, Agent: func() *agent.Agent { return brain }}); err == nil {
		t.Error("an address that others reach is served")
	}
}

// absent is a store that does not answer.
type absent struct{ *sqlite.Store }

var errAway = errors.New("away with hunter2")

func (absent) Pending(context.Context, string) iter.Seq2[memory.PendingApproval, error] {
	return func(yield func(memory.PendingApproval, error) bool) { yield(memory.PendingApproval{}, errAway) }
}

func (s absent) Noted(ctx context.Context, name string) ([]byte, error) {
	if name == "facts" {
		return nil, errAway
	}
	return s.Store.Noted(ctx, name)
}

// A view of a store that is away says so; that of the health says how all else is.
func TestStoreAway(t *testing.T) {
	o := openOffice(t, func(o *Options) { o.Store = absent{o.Store.(*sqlite.Store)} })
	r := doortest.Ask(o.web, "GET", "/waiting", o.in)
	if r.Code != http.StatusServiceUnavailable || strings.Contains(r.Body.String(), "away with") {
		t.Errorf("status %d: %s", r.Code, r.Body)
	}
	holds(t, o.get("/health"), "not connected", "Facts can’t be read now.")
}

// percentiles reports the median and the 99th percentile.
func percentiles(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkLists100000 asks for the lists of a store with 100,000 threads, of which
// 200 wait for an approval and all others for the model.
func BenchmarkLists100000(b *testing.B) {
	o := openOffice(b, nil)
	for n := range 200 {
		o.ask(n)
	}
	var all errgroup.Group
	all.SetLimit(256)
	for n := 200; n < 100_000; n++ {
		all.Go(func() error {
			m := memory.Message{Message: chat.Message{From: chat.User{ID: "U1"}, Text: "hello", Ref: chat.MessageRef{Platform: "slack", Channel: "C1", ID: fmt.Sprint(n)}}}
			_, err := o.store.Put(b.Context(), threadOf(n), m, fmt.Sprint("e", n))
			return err
		})
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
	for _, view := range []string{"/waiting", "/live", "/thread"} {
		b.Run(strings.TrimPrefix(view, "/"), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				o.get(view)
				took = append(took, time.Since(began))
			}
			percentiles(b, took)
		})
	}
}

// BenchmarkSlider10000 moves the slider of a thread of 10,000 entries.
func BenchmarkSlider10000(b *testing.B) {
	o := openOffice(b, nil)
	thread := threadOf(1)
	var bodies []memory.Body
	for i := range 2000 {
		turn := uint64(i*5 + 1)
		bodies = append(
			bodies, memory.Message{Message: chat.Message{From: chat.User{ID: "U1"}, Text: "what is the state of things, please?", Ref: chat.MessageRef{Platform: "slack", Channel: "C1", ID: fmt.Sprint(i)}}},
			memory.Opened{Turn: turn, Name: fmt.Sprint(turn), Requester: chat.User{ID: "U1"}},
			memory.Step{Turn: turn, N: 1, Seen: turn, Answer: strings.Repeat("All is well. ", 20)}, memory.Posted{Key: fmt.Sprintf("%d/answer", turn)}, memory.Ended{Turn: turn},
		)
	}
	o.write(thread, "begin", bodies...)
	o.get(threadURL(thread, 0)) // reads the log
	at := uint64(0)
	var took []time.Duration
	for b.Loop() {
		at = at*7919%10_000 + 1
		began := time.Now()
		r := doortest.Ask(o.web, "GET", threadURL(thread, at)+"&part=1", o.in)
		took = append(took, time.Since(began))
		if r.Code != http.StatusOK {
			b.Fatal(r.Body)
		}
	}
	percentiles(b, took)
}
