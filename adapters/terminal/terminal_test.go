package terminal

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"nod/chat"
	"nod/front"
)

var update = flag.Bool("update", false, "write what the conversations give to their files")

// TestConversations pipes testdata/*.txtar: `in` is the input, `bot` the
// script of the bot (see bot), `want` all of the output. In a bubble an
// adapter that waits for what will never come is found at once.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			arc, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string]string{}
			for _, f := range arc.Files {
				part[f.Name] = string(f.Data)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = converse(t, part["in"], part["bot"]) })
			if *update {
				arc.Files[len(arc.Files)-1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(arc), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(part["want"], got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// converse pipes the input to an adapter and returns what it wrote.
func converse(t *testing.T, in, script string) string {
	b := newBot(t, script)
	var out buffer
	folder := t.TempDir()
	a := start(b, Options{In: strings.NewReader(in), Out: &out, Banner: "A demo model answers.", Files: folder})
	ctx, stop := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); b.run(ctx) }()
	if err := a.Run(ctx); err != nil {
		t.Error(err)
	}
	stop()
	<-gone
	return strings.ReplaceAll(out.String(), folder, "FILES")
}

func TestRunReportsWhatEndsIt(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		in     io.Reader
		fail   error
		screen Screen
		past   error // of a history that can't be read
		want   string
	}{
		"a store that does not answer ends a script": {in: strings.NewReader("hi\n"), fail: broken, want: "take in a line: broken"},
		"and is told to a person":                    {in: strings.NewReader("hi\n"), fail: broken, screen: Screen{Prompt: true}},
		"input that breaks":                          {in: io.MultiReader(strings.NewReader("\n"), failing{broken}), want: "read input: broken"},
		"a line that is too long":                    {in: strings.NewReader(strings.Repeat("x", maxLine+1)), want: "read input: a line is longer than 1048576 bytes"},
		"a history that can't be read":               {in: strings.NewReader(""), past: broken, want: "read the conversation: broken"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBot(t, "")
			b.fail, b.Fail = tt.fail, tt.past
			var out buffer
			a := start(b, Options{In: tt.in, Out: &out, Screen: tt.screen})
			err := a.Run(t.Context())
			if got := message(err); got != tt.want {
				t.Errorf("Run: %q, want %q", got, tt.want)
			}
			if told := strings.Contains(out.String(), "try again"); told != (tt.fail != nil && tt.screen.Prompt) {
				t.Errorf("output %q", out.String())
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// failing can't be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestRunEndsWithItsContext: even while a read blocks, and a turn runs.
func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		b := newBot(t, "on message hi\nworking")
		a := start(b, Options{In: in, Out: io.Discard})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go b.run(ctx)
		go func() { ended <- a.Run(ctx) }()
		if _, err := io.WriteString(keys, "hi\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = keys.Close()
	})
}

// TestPipedWhileItWorks: what is written into a pipe while the bot works is heard
// at once, as from a keyboard; what was there before waits until it is at rest.
func TestPipedWhileItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		b := newBot(t, "on message hi\nworking\nanswer Hello.\nidle\non message how are you?\nworking\non message stop\nnotice Stopped.\nidle\non message well\nworking\nanswer Good.\nidle")
		var out buffer
		a := start(b, Options{In: in, Out: &out})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error)
		go b.run(ctx)
		go func() { ended <- a.Run(ctx) }()
		for i, s := range []string{"hi\nhow are you?\n", "stop\nwell\n"} {
			if i > 0 {
				time.Sleep(pause) // the clock is the bubble's
			}
			if _, err := io.WriteString(keys, s); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		_ = keys.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := "Answer: Hello.\nnod: Stopped.\nAnswer: Good.\n"; out.String() != want {
			t.Errorf("output %q, want %q", out.String(), want)
		}
	})
}

// TestLeft: what nobody can read any more must not count as posted.
func TestLeft(t *testing.T) {
	a := start(newBot(t, ""), Options{In: strings.NewReader(""), Out: io.Discard})
	if err := a.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := chat.Post{Key: "k", Text: &chat.Text{Markdown: "late"}}
	if _, err := a.Post(t.Context(), Thread, p, false); !errors.Is(err, errLeft) {
		t.Errorf("Post after Run: %v", err)
	}
	if err := a.React(t.Context(), messageRef("1"), chat.EmojiSeen); !errors.Is(err, errLeft) {
		t.Errorf("React after Run: %v", err)
	}
	a.Working(Thread, chat.Work{})
}

// TestPostIsRepeatable: the same post, tried again or found in the history,
// is on the screen once and has one reference, in any process.
func TestPostIsRepeatable(t *testing.T) {
	answer := chat.Post{Key: "answer/1", Text: &chat.Text{Markdown: "four"}}
	open, closed := approval("c1", "deploy {}"), approval("c2", "restart {}")
	closed.Outcome, closed.Number = chat.Expired, 7
	closed.Headline = "Expired"
	ref := postRef(Thread, answer.Key)
	line := func(key string, p chat.Post) chat.Line {
		return chat.Line{Ref: postRef(Thread, key), Post: &p}
	}
	var out buffer
	b := newBot(t, "")
	b.Past[Thread] = []chat.Line{
		{Message: &chat.Message{From: chat.User{Name: "ada"}, Text: "2+2?\nplease"}},
		line("answer/1", answer),
		line("ask/c1", chat.Post{Approval: &open}),
		line("ask/c2", chat.Post{Approval: &closed}),
		{Post: &chat.Post{Key: "answer/2", Text: &chat.Text{Markdown: "not posted yet"}}},
	}
	a := start(b, Options{In: strings.NewReader(""), Out: &out, Screen: Screen{Prompt: true}})
	if err := a.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.left = false
	for range 2 {
		got, err := a.Post(t.Context(), Thread, answer, true)
		if err != nil || got != ref {
			t.Errorf("Post: %v %v, want %v", got, err, ref)
		}
	}
	if err := a.Edit(t.Context(), Thread, postRef(Thread, "ask/c2"), chat.Post{Approval: &closed}); err != nil {
		t.Error(err)
	}
	want := `ada:
  2+2?
  please
Answer: four
Approval 7: restart {}
Expired
Approval 1: deploy {}
  Asked by ada · may approve: ada · until 12:30
  answer y or n (✅ 👍 / ❌ 👎); y 1 or n 1 while several wait; n 1 and why
> 
(approval 1, deploy, stays open and is asked again at the next start)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// A reason that is too long decides nothing: the person is told, and writes another one.
func TestReasonTooLong(t *testing.T) {
	var out buffer
	b := newBot(t, "")
	a := start(b, Options{Out: &out})
	on := &ask{number: 1, ref: postRef(Thread, "ask/c1"), want: approval("c1", "deploy {}")}
	v := decide("n", on)
	v.reason = strings.Repeat("x", front.MostReason+1)
	if err := a.vote(t.Context(), v); err != nil || !strings.Contains(out.String(), "a reason may have 500 characters") || len(b.events) != 0 {
		t.Errorf("%v, %q, %d events", err, out.String(), len(b.events))
	}
}

// A code is for the call as the terminal shows it, also where the store has a newer card
// that was not drawn yet.
func TestCodeIsForWhatIsShown(t *testing.T) {
	var out buffer
	b := newBot(t, "")
	a := start(b, Options{Out: &out})
	on := &ask{number: 1, ref: postRef(Thread, "ask/c1"), want: approval("c1", "deploy {}")}
	on.want.Call, on.want.Digest = "c1", "0123456789abcdef"
	newer := on.want
	newer.Digest = "fedcba9876543210"
	b.Cards = map[string]chat.Approval{"c1": newer}
	if err := a.askCode(t.Context(), on); err != nil {
		t.Fatal(err)
	}
	s, ok := a.asksCode("123456")
	if !ok {
		t.Fatal(out.String())
	}
	if err := a.code(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if len(b.Codes) != 1 || b.Codes[0].Digest != on.want.Digest {
		t.Errorf("%+v", b.Codes)
	}
}
