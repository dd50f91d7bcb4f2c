package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/chat/intake"
	"nod/internal/fakeslack"
)

// However slow Slack is, called into a thread it knows who said what: the newest
// of it, with names.
func TestQuotedSlowly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		latency time.Duration
		length  int
	}{{300 * time.Millisecond, 8}, {100 * time.Millisecond, 1100}} {
		t.Run(fmt.Sprint(tt.latency, tt.length), func(t *testing.T) {
			t.Parallel()
			o := open(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000; o.Follow = "mentions" })
			root := o.fake.Say("U0ADA", general, "the root")
			for i := range tt.length - 1 {
				id := fmt.Sprintf("U9%d", i%8)
				if i < 8 {
					o.fake.AddUser(fakeslack.User{ID: id, Name: "user" + fmt.Sprint(i)})
					o.fake.Join(id, general)
				}
				o.fake.Reply(id, general, root, fmt.Sprintf("reply %d", i))
			}
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
			o.fake.Fail(fakeslack.Fault{Delay: tt.latency, Times: -1})
			o.fake.Reply("U0ADA", general, root, fakeslack.Mention+" why?")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
			m := o.in.Messages[0]
			last := m.Quoted[len(m.Quoted)-1]
			if n := min(tt.length, mostQuoted); len(m.Quoted) != n || last.Text != fmt.Sprintf("reply %d", tt.length-2) {
				t.Fatalf("%d quotes, the last %+v", len(m.Quoted), last)
			}
			for _, q := range append(m.Quoted, chat.Quote{From: m.From}) {
				if q.From.Name == "" {
					t.Errorf("who said %q is not known", q.Text)
				}
			}
		})
	}
}

// A thread that can't be read is not taken for an empty one.
func TestUnread(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	root := o.fake.Say("U0ADA", general, "the root")
	o.fake.Fail(fakeslack.Fault{Method: "conversations.replies", Error: "missing_scope"})
	o.fake.Reply("U0BOB", general, root, fakeslack.Mention+" why?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if q := o.in.Messages[0].Quoted; len(q) != 1 || q[0].Text != unread || !q[0].Own {
		t.Errorf("quoted %+v", q)
	}
}

// A forwarded message is quoted, with its author, channel and files. It is never the
// sender's own words: neither a mention nor a command in it counts.
func TestForwards(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	dm := o.fake.DM("U0ADA")
	from := o.fake.Write(fakeslack.Line{User: "U0BOB", Channel: "C0SECRET", Text: "<@U0BOT> forget <@U0CLEO>", Files: []fakeslack.Upload{{Name: "plan.txt", Data: []byte("the plan")}}})
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.in.Do(func() { o.in.Messages = nil })

	o.fake.Forward(fakeslack.Line{User: "U0ADA", Channel: general, Text: ""}, "C0SECRET", from) // calls nobody
	for _, text := range []string{"what does this mean?", ""} {
		o.fake.Forward(fakeslack.Line{User: "U0ADA", Channel: dm, Text: text}, "C0SECRET", from)
	}
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	texts := map[string]bool{}
	for _, m := range o.in.Messages {
		texts[m.Text] = true
		if len(m.Quoted) != 1 || m.Quoted[0].From.ID != "U0BOB" || m.Quoted[0].From.Name != "Bob Martin in #secret" || m.Quoted[0].Text != "@nod forget @cleo" {
			t.Errorf("%q quotes %+v", m.Text, m.Quoted)
		}
		if len(m.Files) != 1 || m.Files[0].Name != "plan.txt" || m.Files[0].Text != "the plan" {
			t.Errorf("%q has the files %+v", m.Text, m.Files)
		}
	}
	if len(o.in.Messages) != 2 || !texts[""] || !texts["what does this mean?"] {
		t.Errorf("messages %q", o.in.Texts())
	}
}

// An alert says what it says in attachments; the preview of a link says nothing.
func TestAlerts(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	root := o.fake.Write(fakeslack.Line{Bot: "B0ALERT", Username: "alerts", Channel: general, Attachments: json.RawMessage(
		`[{"title":"[FIRING:1] HighLatency","text":"p99 is 4 s","fields":[{"title":"on","value":"api-7"}]},{"from_url":"https://go.dev","title":"Go","text":"a preview"}]`)})
	o.fake.Reply("U0ADA", general, root, fakeslack.Mention+" why?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if q := o.in.Messages[0].Quoted; len(q) != 1 || q[0].Text != "[FIRING:1] HighLatency\np99 is 4 s\non\napi-7" || q[0].From.Name != "alerts" {
		t.Errorf("quoted %+v", q)
	}
}

// An app's text is often the title of its blocks: all that they say is quoted, and a call
// in them counts where the app is heard.
func TestBlocksOfAlerts(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, func(o *Options) { o.AllowBots = []string{"B0HEARD"} })
	root := o.fake.Write(fakeslack.Line{Bot: "B0ALERT", Username: "alerts", Channel: general, Text: "CPU high", Blocks: json.RawMessage(
		`[{"type":"section","text":{"type":"mrkdwn","text":"CPU high"}},{"type":"section","text":{"type":"mrkdwn","text":"p99 is 4 s on *api-7*"}}]`)})
	o.fake.Reply("U0ADA", general, root, fakeslack.Mention+" why?")
	o.fake.Write(fakeslack.Line{Bot: "B0HEARD", Username: "heard", Channel: general, Text: "Incident 12", Blocks: json.RawMessage(
		`[{"type":"section","text":{"type":"mrkdwn","text":"` + fakeslack.Mention + ` look at checkout-3"}}]`)})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	for _, m := range o.in.Messages {
		if m.Text != "why?" && m.Text != "Incident 12\n@nod look at checkout-3" || m.Text == "why?" && (len(m.Quoted) != 1 || m.Quoted[0].Text != "CPU high\np99 is 4 s on *api-7*") {
			t.Errorf("it heard %+v", m)
		}
	}
}

// Files that were posted before the call are named, and the newest few come along. A canvas
// is read as the page that it is.
func TestFilesBefore(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	text := func(name string) []fakeslack.Upload {
		return []fakeslack.Upload{{Name: name, Data: []byte("in " + name)}}
	}
	root := o.fake.Write(fakeslack.Line{User: "U0ADA", Channel: general, Text: "the launch", Files: []fakeslack.Upload{{Name: "Plan", MediaType: canvas, Data: []byte("<p>on 18 March</p>")}}})
	for _, name := range []string{"1.log", "2.log", "3.log", "4.log"} {
		o.fake.Write(fakeslack.Line{User: "U0BOB", Channel: general, Thread: root, Files: text(name)})
	}
	o.fake.Write(fakeslack.Line{User: "U0ADA", Channel: general, Thread: root, Text: fakeslack.Mention + " why?", Files: text("own.log")})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	m := o.in.Messages[0]
	var quoted, files []string
	for _, q := range m.Quoted {
		quoted = append(quoted, q.Text)
	}
	for _, f := range m.Files {
		files = append(files, f.Name+": "+f.Text)
	}
	if want := "the launch\n[attached: Plan]|[attached: 1.log]|[attached: 2.log]|[attached: 3.log]|[attached: 4.log]"; strings.Join(quoted, "|") != want {
		t.Errorf("quoted %q", quoted)
	}
	if want := "own.log: in own.log|Plan.html: <p>on 18 March</p>|2.log: in 2.log|3.log: in 3.log|4.log: in 4.log"; strings.Join(files, "|") != want {
		t.Errorf("files %q", files)
	}
}

// A mention alone below somebody's report brings the report along. Later a file of somebody
// who has not called comes along as context.
func TestBareMention(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	root := o.fake.Say("U0BOB", general, "deploy fails with E42")
	o.fake.Reply("U0ADA", general, root, fakeslack.Mention)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if m := o.in.Messages[0]; m.Aside || m.Text != "" || len(m.Quoted) != 1 || m.Quoted[0].Text != "deploy fails with E42" {
		t.Errorf("the mention is %+v", m.Message)
	}
	o.in.Do(func() {
		o.in.Threads[thread(general, root)] = chat.Standing{Known: true, Callers: []chat.UserID{"U0ADA"}}
	})
	o.fake.Write(fakeslack.Line{User: "U0CLEO", Channel: general, Thread: root, Text: "here it is", Files: []fakeslack.Upload{{Name: "log.txt", Data: []byte("E42 in main")}}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	if m := o.in.Messages[1]; !m.Aside || m.Text != "here it is" || len(m.Files) != 1 || m.Files[0].Text != "E42 in main" {
		t.Errorf("the file is %+v", m.Message)
	}
}

// A message that somebody linked to is added by Slack a while later: it is context for the
// next call, and once.
func TestUnfurledLater(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	ts := o.fake.Say("U0ADA", general, fakeslack.Mention+" look at <https://fake.slack.com/archives/C0ALERTS/p1>")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.in.Do(func() { o.in.Threads[thread(general, ts)] = chat.Standing{Known: true} })
	o.fake.Unfurl(general, ts, json.RawMessage(`[{"from_url":"https://go.dev","title":"Go"}]`)) // a preview says nothing
	o.fake.Unfurl(general, ts, json.RawMessage(
		`[{"from_url":"https://go.dev","title":"Go"},{"is_msg_unfurl":true,"author_name":"Grafana","channel_name":"alerts","from_url":"https://fake.slack.com/archives/C0ALERTS/p1","text":"LedgerLag on shard-9"}]`))
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	m := o.in.Messages[1]
	if len(o.in.Messages) != 2 || !m.Outside || m.Text != "" || len(m.Quoted) != 1 || m.Quoted[0].Text != "LedgerLag on shard-9" || m.Quoted[0].From.Name != "Grafana in #alerts" {
		t.Errorf("it heard %+v", o.in.Messages[1:])
	}
}

// A word to stop that is written behind a large file is put at once, and behind
// it. What is in other threads of a direct conversation does not wait at all.
func TestStopBehindAFile(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, func(o *Options) {})
	dm := o.fake.DM("U0ADA")
	asked := make(chan struct{})
	hold := make(chan struct{})
	defer close(hold)
	o.fake.HoldFiles(func() {
		select {
		case <-asked:
		default:
			close(asked)
		}
		<-hold
	})
	root := o.fake.Write(fakeslack.Line{User: "U0ADA", Channel: dm, Text: "read it", Files: []fakeslack.Upload{{Name: "big.txt", Data: []byte("x")}}})
	<-asked
	o.fake.Say("U0ADA", dm, "another thing")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.fake.Reply("U0ADA", dm, root, "Stop")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	if got := o.in.Texts(); strings.Join(got, "; ") != "another thing; read it; Stop" {
		t.Errorf("messages %q", got)
	}
	if f := o.in.Messages[1].Files; len(f) != 1 || f[0].Name != "big.txt" || f[0].Blob != "" {
		t.Errorf("files %+v", f)
	}
}

// If a picture is too large for a model, or of an unsuitable kind, Slack's smaller
// version is fetched.
func TestLargePictures(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	small := []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00 small")
	o.fake.Write(fakeslack.Line{User: "U0ADA", Channel: o.fake.DM("U0ADA"), Text: "look", Files: []fakeslack.Upload{
		{Name: "phone.jpg", MediaType: "image/jpeg", Data: make([]byte, intake.MostImage+1), Thumb: small},
		{Name: "phone.heic", MediaType: "image/heic", Data: []byte("heic"), Thumb: small},
		{Name: "little.png", MediaType: "image/png", Data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00 whole"), Thumb: small},
	}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	for i, want := range []string{"phone.png " + string(small), "phone.png " + string(small), "little.png GIF89a\x01\x00\x01\x00\x00\x00\x00 whole"} {
		f := o.in.Messages[0].Files[i]
		if got := f.Name + " " + string(o.in.Blobs[f.Blob]); got != want || f.MediaType != "image/gif" {
			t.Errorf("file %d is %q %s, want %q", i, got, f.MediaType, want)
		}
	}
}

// The page to sign in is no file.
func TestLoginPage(t *testing.T) {
	t.Parallel()
	scopes := []string{}
	for _, s := range fakeslack.AllScopes() {
		if s != "files:read" {
			scopes = append(scopes, s)
		}
	}
	o := open(t, fakeslack.Options{Scopes: scopes}, nil)
	o.fake.Write(fakeslack.Line{User: "U0ADA", Channel: o.fake.DM("U0ADA"), Text: "look", Files: []fakeslack.Upload{{Name: "a.txt", Data: []byte("a")}}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if f := o.in.Messages[0].Files[0]; f.Blob != "" || f.Text != "" {
		t.Errorf("the page was taken for the file: %+v", f)
	}
}

// A mention that an edit puts into a message begins no turn.
func TestEditedMention(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	ts := o.fake.Say("U0ADA", general, "what time is it?")
	o.fake.Edit("U0ADA", general, ts, fakeslack.Mention+" what time is it?")
	o.fake.Say("U0ADA", o.fake.DM("U0ADA"), "the end")
	o.in.Await(t, func() bool { return len(o.in.Messages) > 0 && o.in.Messages[len(o.in.Messages)-1].Text == "the end" })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	if got := o.in.Texts(); len(got) != 1 {
		t.Errorf("messages %q", got)
	}
}
