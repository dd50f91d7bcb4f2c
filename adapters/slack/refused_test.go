package slack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
)

// With any of Slack's refusals of a post the thread goes on: a plainer form or a plain
// word stands, or the post is given up. It is never tried for ever.
func TestRefusals(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	answer := chat.Post{Text: &chat.Text{Notice: true, Markdown: "**hello**"}}
	words := []string{"slack_connect_file_link_sharing_blocked", "metadata_too_large", "message_limit_exceeded", "no_such_word_yet"}
	for i, word := range words {
		for _, tt := range []struct {
			times int
			want  string
		}{{1, "hello"}, {2, "*hello*"}, {3, "Slack refused my answer (" + word + ")."}, {-1, ""}} {
			p := answer
			p.Key = fmt.Sprintf("answer/%d/%d", i, tt.times)
			before := len(o.own(th))
			fault := o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: word, Times: tt.times})
			_, err := o.a.Post(t.Context(), th, p, false)
			fault.Cancel()
			own := o.own(th)[before:]
			if c := o.fake.Calls("chat.postMessage"); tt.times == 3 && c[len(c)-1].Args["mrkdwn"] != "false" {
				t.Errorf("%s: the plain word is sent as markup", word)
			}
			var refused chat.Refused
			switch {
			case tt.want == "":
				if !errors.Is(err, chat.ErrGone) || !errors.As(err, &refused) || refused.Code != word {
					t.Errorf("%s for ever: %v", word, err)
				}
			case err != nil || len(own) != 1 || own[0].Text != tt.want:
				t.Errorf("%s %d times: %v, %+v", word, tt.times, err, own)
			}
		}
	}
	for _, p := range []chat.Post{{Key: "s", Steps: steps(1, false)}, {Key: "a", Approval: approval()}} {
		fault := o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: words[0], Times: -1})
		if _, err := o.a.Post(t.Context(), th, p, false); !errors.Is(err, chat.ErrGone) || !errors.As(err, new(chat.Refused)) {
			t.Errorf("%s: %v", p.Key, err)
		}
		fault.Cancel()
	}
}

// A word for a place that can't be written to may mean one message only: then a plain
// word stands for it. Where the place is shut that is refused as well, and no more is
// tried.
func TestRefusedPlace(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	for i, word := range []string{"restricted_action", "ekm_access_denied", "no_permission"} {
		p := chat.Post{Key: fmt.Sprint("answer/", i), Text: &chat.Text{Markdown: "**hello**"}}
		before := len(o.own(th))
		o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: word, Times: 1})
		_, err := o.a.Post(t.Context(), th, p, false)
		if own := o.own(th)[before:]; err != nil || len(own) != 1 || own[0].Text != "Slack refused my answer ("+word+")." {
			t.Errorf("%s of one message: %v, %+v", word, err, own)
		}
		p.Key += "/shut"
		n := len(o.fake.Calls("chat.postMessage"))
		fault := o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: word, Times: -1})
		_, err = o.a.Post(t.Context(), th, p, false)
		fault.Cancel()
		if tries := len(o.fake.Calls("chat.postMessage")) - n; !errors.Is(err, chat.ErrGone) || errors.As(err, new(chat.Refused)) || tries != 2 {
			t.Errorf("%s of all: %v after %d calls", word, err, tries)
		}
	}
}

// That the thread can't be read is no reason to say nothing in it.
func TestBlind(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	o.fake.Fail(fakeslack.Fault{Method: "conversations.replies", Error: "missing_scope", Times: -1})
	if _, err := o.a.Post(t.Context(), th, chat.Post{Key: "a", Text: &chat.Text{Markdown: "hello"}}, true); err != nil {
		t.Error(err)
	}
}

// The log names the places that Slack complains about, and no text.
func TestPointers(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{Lenient: true}, nil)
	err := o.a.web.Call(t.Context(), api.Request{Method: "chat.postMessage", Args: map[string][]string{
		"channel": {general}, "thread_ts": {th.Root}, "text": {"x"}, "blocks": {`[{"type":"section","text":{"type":"mrkdwn","text":""}},{"type":"secret words"}]`},
	}})
	if err == nil || !strings.Contains(err.Error(), "invalid_blocks at /blocks/0/text, /blocks/1") || strings.Contains(err.Error(), "secret") {
		t.Errorf("it says %v", err)
	}
}

// Where files are restricted, as in many companies, long arguments stand in
// messages, whole; what is too long for that is never asked for.
func TestLongArgumentsWithoutFiles(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"file_uploads_disabled", "file_type_not_allowed", "storage_limit_reached", "no_such_word_yet"} {
		o, th, ref := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
		o.fake.Fail(fakeslack.Fault{Method: "files.getUploadURLExternal", Error: word, Times: -1})
		a := approval()
		a.Args = `{"script":"` + strings.Repeat("rm -rf x; ", 1200) + `"}`
		p := chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: a}
		if _, err := o.a.Post(t.Context(), th, p, false); err != nil {
			t.Fatal(word, err)
		}
		if _, err := o.a.Post(t.Context(), th, p, true); err != nil {
			t.Fatal(word, err)
		}
		own := o.own(th)
		var shown strings.Builder
		for _, m := range own[:len(own)-1] {
			shown.WriteString(unescaped(m.Blocks))
		}
		if n := strings.Count(shown.String(), "rm -rf x;"); len(own) != 3 || n < 1198 {
			t.Errorf("%s: %d messages show %d of 1200", word, len(own), n)
		}
		a.Args = `{"script":"` + strings.Repeat("x", 200_000) + `"}`
		before := len(own)
		p.Key = "ask/c2"
		if _, err := o.a.Post(t.Context(), th, p, false); !errors.Is(err, chat.ErrGone) || len(o.own(th)) != before {
			t.Errorf("%s: too long: %v", word, err)
		}
	}
}

// A token that Slack refuses ends the connection; one that it refused by mistake
// does not.
func TestDeadToken(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	p := chat.Post{Key: "a", Text: &chat.Text{Markdown: "hello"}}
	o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "account_inactive"})
	if _, err := o.a.Post(t.Context(), th, p, false); err == nil || errors.Is(err, chat.ErrGone) {
		t.Errorf("it is given up: %v", err)
	}
	o.wait(func(s *fakeslack.Server) bool { return len(s.Calls("auth.test")) == 2 })
	if _, err := o.a.Post(t.Context(), th, p, false); err != nil {
		t.Error(err)
	}

	f := fakeslack.Start(t, fakeslack.Options{})
	opt := (&office{t: t, fake: f, in: o.in}).options()
	a, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(t.Context()) }()
	if err := a.signedIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Fail(fakeslack.Fault{Error: "token_revoked", Times: -1, Match: func(fakeslack.Args) bool { return true }})
	root := f.Say("U0ADA", general, "hi")
	_, _ = a.Post(t.Context(), thread(general, root), p, false)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "token_revoked") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(ledger.Longest):
		t.Fatal("it goes on with a token that is revoked")
	}
}

// However much is in them, steps keep folding under Slack's limit for all blocks
// of a message, in every form that folds, and every live edit is drawn.
func TestStepsKeepFolding(t *testing.T) {
	t.Parallel()
	long := func(n int) *chat.Steps {
		s := &chat.Steps{Turn: "7", Status: "Running search"}
		for i := range n {
			s.Version++
			s.Items = append(s.Items, chat.Step{Thought: fmt.Sprintf("thought %d ", i) + strings.Repeat("t", 700), Calls: []chat.ToolCall{{
				Tool: "search", Args: `{"q":"` + strings.Repeat("a", 500) + `"}`, State: chat.CallDone, Observation: strings.Repeat("r", 700),
			}}})
		}
		return s
	}
	for _, refused := range []string{"", "container", "plan"} {
		o, th, ref := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
		no := func(kind string) {
			for _, method := range []string{"chat.postMessage", "chat.update"} {
				o.fake.Fail(fakeslack.Fault{Method: method, Error: "invalid_blocks", Times: -1, Match: func(a fakeslack.Args) bool {
					return strings.Contains(a["blocks"], `"type":"`+kind+`"`)
				}})
			}
		}
		want := "container"
		if refused != "" {
			no("container")
			want = "plan"
		}
		if refused == "plan" {
			no("plan")
			want = "section"
		}
		p := chat.Post{Key: "steps/7", ReplyTo: ref, Steps: long(1)}
		at, err := o.a.Post(t.Context(), th, p, false)
		if err != nil {
			t.Fatal(err)
		}
		for n := 2; n <= 40; n++ {
			p.Steps = long(n)
			p.Steps.Done = n == 40
			if err := o.a.Edit(t.Context(), th, at, p); err != nil {
				t.Fatal(err)
			}
			o.wait(func(*fakeslack.Server) bool {
				m, _ := o.fake.Message(general, at.ID)
				return n == 40 || strings.Contains(m.Text, fmt.Sprintf("Step %d ", n))
			})
			m, _ := o.fake.Message(general, at.ID)
			if !strings.Contains(string(m.Blocks), `"type":"`+want+`"`) || !strings.Contains(string(m.Blocks), layout.ShowAll) {
				t.Fatalf("%s refused, %d steps: %.200s", refused, n, m.Blocks)
			}
		}
		tries := 0
		for _, c := range o.fake.Calls("chat.update") {
			if c.Error != "" {
				tries++
			}
		}
		if tries > 0 {
			t.Errorf("%s refused: %d edits were tried in forms that the workspace does not take", refused, tries)
		}
	}
}

// The outcome of an approval is shown in any script: Slack counts the bytes of an edit.
func TestOutcomeInAnyScript(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"russian": "Привет ", "japanese": "日本語", "emoji": "😀"} {
		for _, plain := range []bool{false, true} {
			o, th, ref := called(t, fakeslack.Options{}, nil)
			a := approval()
			a.Args = `{"text":"` + strings.Repeat(text, 2600/utf8.RuneCountInString(text)) + `"}`
			p := chat.Post{Key: "ask/1", ReplyTo: ref, Approval: a}
			at, err := o.a.Post(t.Context(), th, p, false)
			if err != nil {
				t.Fatal(err)
			}
			if plain {
				o.fake.Fail(fakeslack.Fault{Method: "chat.update", Error: "invalid_blocks"})
			}
			a.Outcome, a.By, a.Headline = chat.Approved, []chat.User{{ID: "U0BOB"}}, "Approved by U0BOB"
			if err := o.a.Edit(t.Context(), th, at, p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, c := range o.fake.Calls("chat.update") {
				if c.Args["parse"] != "none" {
					t.Errorf("%s: Slack reads mentions and links into the text of an edit", name)
				}
			}
			if m, _ := o.fake.Message(general, at.ID); !strings.Contains(m.Text, "Approved by") {
				t.Errorf("%s: it reads %.200q", name, m.Text)
			}
		}
	}
}

// A live edit whose form Slack refuses, though it took the post, is drawn in the
// next.
func TestLiveEditFallsBack(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	p := chat.Post{Key: "steps/7", ReplyTo: ref, Steps: steps(1, false)}
	at, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	o.fake.Fail(fakeslack.Fault{Method: "chat.update", Error: "msg_blocks_too_long", Times: 2})
	p.Steps = steps(2, false)
	p.Steps.Status = "Reading on"
	if err := o.a.Edit(t.Context(), th, at, p); err != nil {
		t.Fatal(err)
	}
	o.wait(func(*fakeslack.Server) bool {
		m, _ := o.fake.Message(general, at.ID)
		return strings.Contains(m.Text, "Reading on") && strings.Contains(string(m.Blocks), "section")
	})
}
