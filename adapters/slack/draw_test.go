package slack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/fakeslack"
)

// called gives an office whose thread has begun.
func called(t *testing.T, f fakeslack.Options, change func(*Options)) (*office, chat.ThreadID, chat.MessageRef) {
	t.Helper()
	o := open(t, f, change)
	ts := o.fake.Say("U0ADA", general, "<@U0BOT> hi")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	return o, thread(general, ts), o.in.Messages[0].Ref
}

// own gives the bot's messages of a thread.
func (o *office) own(t chat.ThreadID) []fakeslack.Message {
	return slices.DeleteFunc(o.fake.Messages(api.ChannelOf(t.Channel), t.Root), func(m fakeslack.Message) bool { return !m.Bot() || m.Deleted })
}

func approval() *chat.Approval {
	return &chat.Approval{
		Call: "c1", Tool: "deploy", Headline: "Approval needed: deploy", Args: `{"env":"<!channel> & co"}`, Digest: "0a1b", Requester: chat.User{ID: "U0ADA", Name: "ada"},
		Approvers: []string{"requester", "group:S0OPS"}, Quorum: 2, Approve: []string{"✅", "👍"}, Deny: []string{"❌"},
		Deadline: time.Unix(1795000000, 0),
	}
}

// A post whose outcome is unknown is looked for before it is made again, so
// that it stands once, whether Slack had done it or not.
func TestPostOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakeslack.Fault{
		"500 after":  {Method: "chat.postMessage", Status: 500, After: true},
		"502 before": {Method: "chat.postMessage", Status: 502, Body: "<html>"},
		"cut after":  {Method: "chat.postMessage", Drop: true, After: true},
		"cut before": {Method: "chat.postMessage", Drop: true},
		"limited":    {Method: "chat.postMessage", RetryAfter: time.Second},
		"fatal":      {Method: "chat.postMessage", Error: "internal_error", After: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, th, ref := called(t, fakeslack.Options{}, nil)
			o.fake.Fail(fault)
			got, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "hello"}}, false)
			if err != nil {
				t.Fatal(err)
			}
			if own := o.own(th); len(own) != 1 || own[0].TS != got.ID {
				t.Errorf("it stands %d times: %+v", len(own), own)
			}
		})
	}
}

// After a crash only what is missing of a post is made.
func TestPostLook(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	long := strings.Repeat("A paragraph that is a little longer than others.\n\n", 600)
	p := chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: long}}
	first, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	before := o.own(th)
	if len(before) < 3 {
		t.Fatalf("%d messages", len(before))
	}
	again, err := o.a.Post(t.Context(), th, p, true)
	if err != nil || again != first || len(o.own(th)) != len(before) {
		t.Errorf("Post = %v, %v; there are %d messages, want %d", again, err, len(o.own(th)), len(before))
	}
	p.Key = "answer/2"
	if other, err := o.a.Post(t.Context(), th, p, true); err != nil || other == first {
		t.Errorf("another post: %v, %v", other, err)
	}
}

func TestPostGone(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{Lenient: true}, nil)
	o.fake.Archive(general)
	_, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", Text: &chat.Text{Markdown: "hello"}}, false)
	if !errors.Is(err, chat.ErrGone) {
		t.Errorf("Post: %v", err)
	}
}

// When Slack refuses a rendering, a plainer one follows.
func TestPlainer(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: 2})
	posts := []chat.Post{
		{Key: "answer/1", Text: &chat.Text{Notice: true, Markdown: "# Title\n\n**bold** <@U0BOB>"}},
		{Key: "ask/1", Approval: approval()},
	}
	for _, p := range posts {
		if _, err := o.a.Post(t.Context(), th, p, false); err != nil {
			t.Fatal(err)
		}
		o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: 2})
	}
	own := o.own(th)
	if own[0].Text != "*Title*\n\n*bold* &lt;@U0BOB&gt;" || own[0].Blocks != nil {
		t.Errorf("the answer is %q with %s", own[0].Text, own[0].Blocks)
	}
	if !strings.Contains(own[1].Text, "\"env\": \"&lt;!channel&gt; &amp; co\"") {
		t.Errorf("the approval is %q", own[1].Text)
	}
}

// Tables stay Markdown, which Slack draws, with what is in their cells; in the
// plainer forms they are code with aligned columns, and links and code stay. The
// language of code is no line of it.
func TestTables(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	md := "Before [Go](https://go.dev)\n\n| a | b |\n|---|--:|\n| **x** | 1 |\n| | 2 |\n\nBetween `<!here>`\n\n```go\nx := 1\n```\n\n| c |\n|---|\n| <!here> |\n"
	if _, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", Text: &chat.Text{Markdown: md}}, false); err != nil {
		t.Fatal(err)
	}
	got := unescaped(o.own(th)[0].Blocks)
	if !strings.Contains(got, "| **x** | 1 |") || !strings.Contains(got, "| c |") || strings.Contains(got, "<!here>") || strings.Contains(got, "`&lt;") {
		t.Errorf("blocks %s", got)
	}
	if got := strings.Join(fakeslack.Drawn(o.own(th)[0].Blocks), "; "); got != "table 3x2; x := 1; table 2x1" {
		t.Errorf("readers see %q", got)
	}
	for times, want := range map[int]string{1: "<https://go.dev|Go>", 2: "<https://go.dev|Go>"} {
		o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: times})
		if _, err := o.a.Post(t.Context(), th, chat.Post{Key: fmt.Sprint("answer/", times+1), Text: &chat.Text{Notice: true, Markdown: md}}, false); err != nil {
			t.Fatal(err)
		}
		own := o.own(th)
		last := own[len(own)-1]
		shown := unescaped(last.Blocks)
		if times == 2 {
			shown = last.Text
		}
		if !strings.Contains(shown, want) || !strings.Contains(shown, "a  b") || times == 2 && strings.Contains(shown, "<!here>") || (last.Blocks == nil) != (times == 2) {
			t.Errorf("refused %d times: %q", times, shown)
		}
	}
}

// An answer that is very long is a file, besides its beginning; where files are
// refused it is so many messages and no more. A picture in it is a link.
func TestVeryLongAnswers(t *testing.T) {
	t.Parallel()
	for _, files := range []bool{true, false} {
		o, th, _ := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
		if !files {
			o.fake.Fail(fakeslack.Fault{Method: "files.getUploadURLExternal", Error: "file_uploads_disabled", Times: -1})
		}
		md := "![x](https://evil.example/?q=1) begins\n\n" + strings.Repeat("A paragraph that is a little longer than others.\n\n", 5000)
		p := chat.Post{Key: "answer/1", Text: &chat.Text{Markdown: md}}
		for _, look := range []bool{false, true} {
			if _, err := o.a.Post(t.Context(), th, p, look); err != nil {
				t.Fatal(err)
			}
		}
		own := o.own(th)
		whole := 0
		for _, m := range own {
			for _, f := range m.Files {
				whole += len(f.Data)
			}
		}
		if want := map[bool]int{true: 3, false: layout.MostPlainReplies + 1}[files]; len(own) != want || files != (whole == len(md)) {
			t.Errorf("files %v: %d messages, want %d, and %d bytes of a file", files, len(own), want, whole)
		}
		if strings.Contains(string(own[0].Blocks)+string(own[1].Blocks), "![") {
			t.Error("a picture is left to be fetched")
		}
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	p := chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: approval()}
	at, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := o.fake.Message(general, at.ID)
	want := map[string][]string{"white_check_mark": {fakeslack.BotUser}, "x": {fakeslack.BotUser}}
	if diff := cmp.Diff(want, m.Reactions); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	for _, part := range []string{"deploy", `\u003c!channel\u003e \u0026 co`, "\\u003c@U0ADA\\u003e", layout.ApproveID, layout.DenyID, "subteam^S0OPS", "date^1795000000^", "0a1b"} {
		if !strings.Contains(unescaped(m.Blocks), unescaped([]byte(part))) {
			t.Errorf("the message lacks %s: %s", part, m.Blocks)
		}
	}
	p.Approval.By, p.Approval.Outcome = []chat.User{{ID: "U0BOB"}, {ID: "U0CLEO"}}, chat.Approved
	p.Approval.Headline = "Approved by U0BOB, U0CLEO"
	if err := o.a.Edit(t.Context(), th, at, p); err != nil {
		t.Fatal(err)
	}
	m, _ = o.fake.Message(general, at.ID)
	if m.Text != "Approved by U0BOB, U0CLEO\n`deploy`" || strings.Contains(string(m.Blocks), layout.ApproveID) {
		t.Errorf("it reads: %q %s", m.Text, m.Blocks)
	}
	if again, err := o.a.Post(t.Context(), th, p, true); err != nil || again != at {
		t.Errorf("look found %v, %v", again, err)
	}
}

func unescaped(b []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\"`, `"`).Replace(string(b))
}

// Arguments that are too long for a message stand whole in a file.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	a := approval()
	a.Args = `{"script":"` + strings.Repeat("rm -rf x; ", 2000) + `"}`
	o.fake.Fail(fakeslack.Fault{Method: "files.completeUploadExternal", Status: 500, After: true})
	p := chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: a}
	at, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.a.Post(t.Context(), th, p, true); err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, m := range o.fake.Messages(general, th.Root) {
		for _, f := range m.Files {
			files++
			if string(f.Data) != a.Args {
				t.Errorf("the file has %d bytes", len(f.Data))
			}
		}
	}
	m, _ := o.fake.Message(general, at.ID)
	if files != 1 || !strings.Contains(string(m.Blocks), chat.Sum(a.Args)[:12]) {
		t.Errorf("%d files; the message is %s", files, m.Blocks)
	}
}

func steps(version uint64, done bool) *chat.Steps {
	s := &chat.Steps{Turn: "7", Version: version, Done: done, Status: "Running fetch", Took: 12 * time.Second, Tokens: chat.Tokens{Prompt: 1200, Completion: 34}}
	s.Items = []chat.Step{{Thought: "I look <!channel> it up.", Calls: []chat.ToolCall{
		{ID: "1", Tool: "fetch", Args: "{\"url\":\"a`b\u202e\"}", State: chat.CallRunning},
	}}}
	if done {
		s.Status = "Done"
		s.Items[0].Calls[0].State, s.Items[0].Calls[0].Observation, s.Items[0].Calls[0].Took = chat.CallDone, "<b>found</b>", 1500*time.Millisecond
	}
	return s
}

func TestSteps(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	p := chat.Post{Key: "steps/7", ReplyTo: ref, Steps: steps(3, false)}
	at, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := o.fake.Message(general, at.ID)
	for _, part := range []string{`"is_collapsible":true`, `"default_collapsed":true`, "Step 1 · Running fetch …", "*Thought* I look &lt;!channel&gt; it up."} {
		if !strings.Contains(unescaped(m.Blocks), part) {
			t.Errorf("the message lacks %s: %s", part, unescaped(m.Blocks))
		}
	}
	p.Steps = steps(9, true)
	if err := o.a.Edit(t.Context(), th, at, p); err != nil {
		t.Fatal(err)
	}
	p.Steps = steps(8, true) // a stale replica
	if err := o.a.Edit(t.Context(), th, at, p); err != nil {
		t.Fatal(err)
	}
	m, _ = o.fake.Message(general, at.ID)
	if len(m.Edits) != 1 || m.Text != "1 step · fetch · 12 s" || !strings.Contains(unescaped(m.Blocks), "*Observation* (done, 1.5 s) &lt;b&gt;found&lt;/b&gt;") {
		t.Errorf("after %d edits it is %q: %s", len(m.Edits), m.Text, unescaped(m.Blocks))
	}

	o.in.Do(func() { o.in.Turns["7"] = *steps(9, true) })
	o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.ShowAll})
	o.wait(func(s *fakeslack.Server) bool { return len(s.Views("U0BOB")) == 1 })
	if raw := string(o.fake.Views("U0BOB")[0].Raw); !strings.Contains(unescaped([]byte(raw)), "<b>found</b>") {
		t.Errorf("the window shows %s", raw)
	}
}

// However long the history, the message keeps within Slack's limits, shows the
// newest and says how much is left out.
func TestManySteps(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	s := &chat.Steps{Turn: "7", Version: 1, Status: strings.Repeat("s", 400)}
	for i := range 60 {
		s.Items = append(s.Items, chat.Step{Thought: strings.Repeat("&", 5000), Calls: []chat.ToolCall{
			{Tool: strings.Repeat("t", 300), Args: strings.Repeat("`<", 3000), State: chat.CallDone, Observation: fmt.Sprintf("result %d ", i) + strings.Repeat("😀", 5000)},
		}})
		s.Version++
		key := fmt.Sprintf("steps/%d", i)
		at, err := o.a.Post(t.Context(), th, chat.Post{Key: key, ReplyTo: ref, Steps: s}, false)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := o.fake.Message(general, at.ID)
		if !strings.Contains(string(m.Blocks), fmt.Sprintf("result %d ", i)) || i > 20 && !strings.Contains(string(m.Blocks), "left out here") {
			t.Fatalf("after %d steps: %s", i, m.Blocks)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	o.fake.SetGroup(fakeslack.Group{ID: "S0OFF", Handle: "off", Users: []string{"U0BOB"}, Disabled: true})
	o.fake.SetGroup(fakeslack.Group{ID: "S0EMPTY", Handle: "empty"})
	in := func(th chat.ThreadID, who chat.UserID, rule string) string {
		are, err := o.a.Members(t.Context(), th, rule, []chat.UserID{who})
		return fmt.Sprint(len(are) == 1, err != nil, o.a.Possible(t.Context(), th, rule))
	}
	pub := thread(general, "1.000000")
	tests := []struct {
		th   chat.ThreadID
		who  chat.UserID
		rule string
		want string // is a member, in doubt, possible
	}{
		{pub, "U0BOB", "group:S0OPS", "true false true"},
		{pub, "U0ADA", "group:S0OPS", "false false true"},
		{pub, "U0ADA", "role:1", "false false false"},
		{pub, "U0BOB", "group:S0NONE", "false true false"},
		{pub, "U0BOB", "group:S0OFF", "false true false"},
		{pub, "U0BOB", "group:S0EMPTY", "false false false"},
		{thread(o.fake.DM("U0ADA"), "1.000000"), "U0ADA", "group:S0OPS", "false false false"},
		{thread(o.fake.DM("U0BOB"), "1.000000"), "U0BOB", "group:S0OPS", "true false true"},
	}
	for _, tt := range tests {
		if got := in(tt.th, tt.who, tt.rule); got != tt.want {
			t.Errorf("%s of %s in %s: %s, want %s", tt.who, tt.rule, tt.th, got, tt.want)
		}
	}
}

// Fifty threads that ask at once are all answered, and Slack is not asked too
// often.
func TestBurst(t *testing.T) {
	t.Parallel()
	refused := 0
	// Where a minute lasts a second, a busy machine makes some calls arrive too close to
	// the one before it. Without a pace it would be three dozen and more at any speed.
	for _, fast := range []float64{60, 15, 4} {
		if refused = burst(t, fast); refused <= 15 {
			return
		}
	}
	t.Errorf("%d calls were refused", refused)
}

// burst plays one so many times as fast as Slack is, and counts refused calls.
func burst(t *testing.T, fast float64) (refused int) {
	o := open(t, fakeslack.Options{LimitScale: fast}, func(o *Options) { o.Pace = fast / 3 })
	for i := range 3 {
		o.fake.AddChannel(fakeslack.Channel{ID: fmt.Sprintf("C0ROOM%d", i), Name: fmt.Sprint(i), Members: []string{"U0ADA", "U0BOB", fakeslack.BotUser}})
	}
	var all sync.WaitGroup
	for i := range 50 {
		room := fmt.Sprintf("C0ROOM%d", i%3)
		ts := o.fake.Say("U0ADA", room, fmt.Sprintf("<@U0BOT> question %d", i))
		th := thread(room, ts)
		all.Go(func() {
			for _, p := range []chat.Post{
				{Key: "steps/1", Steps: steps(1, false)}, {Key: "ask/1", Approval: approval()}, {Key: "answer/1", Text: &chat.Text{Markdown: "done"}},
			} {
				at, err := o.a.Post(t.Context(), th, p, false)
				if err == nil && p.Steps != nil {
					err = o.a.Edit(t.Context(), th, at, chat.Post{Key: "steps/1", Steps: steps(2, true)})
				}
				if err != nil {
					t.Error(err)
				}
			}
			if own := o.own(th); len(own) != 3 {
				t.Errorf("%d messages", len(own))
			}
		})
	}
	all.Wait()
	return o.fake.RateLimited()
}

// The first line of an approval's text is its headline, exactly, in every form:
// it is what a notification shows.
func TestHeadlineComesFirst(t *testing.T) {
	for _, p := range []chat.Approval{
		{Headline: "Approval 3: restart_service", Tool: "restart_service"},
		{Headline: "Approved by ada_b · running", Tool: "deploy", Outcome: chat.Approved, Why: "it read a page"},
		{Headline: "Approved by ada · done in 2 s", Tool: "deploy", Outcome: chat.Approved},
		{Headline: "Approved by ada · failed: exit status 1", Tool: "deploy", Outcome: chat.Approved},
		{Headline: "Denied by ben: too late in the day", Tool: "deploy", Outcome: chat.Denied},
		{Headline: "Expired", Tool: "deploy", Outcome: chat.Expired},
	} {
		for i, f := range layout.ApprovalPart(&p, cardOf(&p), everything) {
			if first, _, _ := strings.Cut(f.Text, "\n"); first != p.Headline {
				t.Errorf("form %d of %q begins with %q", i, p.Headline, first)
			}
		}
	}
}

// If Slack fails again and again on one message and answers otherwise, the message may
// be the cause. A plainer form follows, and at last a word, so that the thread goes on.
func TestTroubleWithOneMessage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		troubles func(a fakeslack.Args) bool
		want     string
	}{
		"its form": {func(a fakeslack.Args) bool { return a["blocks"] != "" }, "hello *you*"},
		"its text": {func(a fakeslack.Args) bool { return strings.Contains(fmt.Sprint(a), "hello") }, "Slack refused my answer (internal_error)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, th, ref := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
			o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "internal_error", Match: tt.troubles, Times: -1})
			if _, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "hello **you**"}}, false); err != nil {
				t.Fatal(err)
			}
			if own := o.own(th); len(own) != 1 || own[0].Text != tt.want {
				t.Errorf("%+v", own)
			}
		})
	}
}

// Where Slack takes nothing at all, the message waits for it as it is.
func TestTroubleWithAll(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	trouble := o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "internal_error", Times: -1})
	p := chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "hello **you**"}}
	if _, err := o.a.Post(t.Context(), th, p, false); err == nil || errors.Is(err, chat.ErrGone) {
		t.Errorf("Post: %v", err)
	}
	trouble.Cancel()
	if _, err := o.a.Post(t.Context(), th, p, true); err != nil {
		t.Fatal(err)
	}
	if own := o.own(th); len(own) != 1 || own[0].Blocks == nil {
		t.Errorf("%+v", own)
	}
}
