package terminal

import (
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/term"

	"nod/chat"
)

// glass is a terminal's screen: it understands what the adapter and the line
// editor write, and complains about anything else.
type glass struct {
	t     *testing.T
	width int

	mu     sync.Mutex
	rows   [][]rune // a cell each; the second cell of a wide rune is 0
	x, y   int
	nowrap bool
}

func newGlass(t *testing.T, width int) *glass { return &glass{t: t, width: width, rows: [][]rune{nil}} }

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s := string(p); s != ""; {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' })
			g.control(rest[:end], rest[end])
			s = rest[end+1:]
			continue
		}
		r := []rune(s)[0]
		g.put(r)
		s = s[len(string(r)):]
	}
	return len(p), nil
}

func (g *glass) put(r rune) {
	switch {
	case r == '\r':
		g.x = 0
		return
	case r == '\n':
		g.y++
	case r < ' ':
		g.t.Errorf("control character %q", r)
	}
	for len(g.rows) <= g.y {
		g.rows = append(g.rows, nil)
	}
	if r == '\n' {
		return
	}
	w := lipgloss.Width(string(r))
	if g.x+w > g.width {
		if g.nowrap {
			g.t.Errorf("%q does not fit", r)
			return
		}
		g.x = 0
		g.put('\n')
	}
	for len(g.rows[g.y]) < g.x+w {
		g.rows[g.y] = append(g.rows[g.y], ' ')
	}
	g.rows[g.y][g.x] = r
	for i := 1; i < w; i++ {
		g.rows[g.y][g.x+i] = 0
	}
	g.x += w
}

func (g *glass) control(args string, what byte) {
	n, err := strconv.Atoi(args)
	if err != nil {
		n = 1
	}
	switch string(what) + args {
	case "J":
		g.rows = g.rows[:g.y+1]
		fallthrough
	case "K":
		g.rows[g.y] = g.rows[g.y][:min(g.x, len(g.rows[g.y]))]
		return
	case "l?7", "h?7":
		g.nowrap = what == 'l'
		return
	case "l?2004", "h?2004":
		return
	}
	switch what {
	case 'A':
		g.y -= n
	case 'B':
		g.y += n
	case 'C':
		g.x += n
	case 'D':
		g.x -= n
	default:
		g.t.Errorf("escape sequence %q", args+string(what))
	}
	if g.x < 0 || g.y < 0 {
		g.t.Errorf("cursor at %d, %d after %q", g.x, g.y, args+string(what))
		g.x, g.y = max(g.x, 0), max(g.y, 0)
	}
}

// String gives what is on the screen.
func (g *glass) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []string
	for _, row := range g.rows {
		lines = append(lines, strings.TrimRight(strings.ReplaceAll(string(row), "\x00", ""), " "))
	}
	return strings.Join(lines, "\n")
}

// seat is a person at a live terminal, with a bot behind it that plays its
// blocks as the events come, or what a test has it play.
type seat struct {
	t     *testing.T
	glass *glass
	bot   *bot
	a     *Adapter
	in    *io.PipeWriter
	ended chan error
	now   time.Time
}

func sit(t *testing.T, width int, o Options, script string) *seat {
	in, keys := io.Pipe()
	s := &seat{t: t, glass: newGlass(t, width), bot: newBot(t, script), in: keys, ended: make(chan error, 1), now: noon}
	o.In, o.Out = in, s.glass
	o.Screen = Screen{Prompt: true, Live: true, Size: func() (int, int) { return width, 10 }}
	s.a = start(s.bot, o)
	s.a.o.Now = func() time.Time { return s.now }
	go s.bot.run(t.Context())
	go func() { s.ended <- s.a.Run(t.Context()) }()
	t.Cleanup(func() { _ = keys.Close() })
	synctest.Wait()
	return s
}

// types sends keys, and lets everything that comes of them happen.
func (s *seat) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, keys); err != nil {
		s.t.Error(err)
	}
	synctest.Wait()
}

// plays has the bot do something of its own accord.
func (s *seat) plays(lines ...string) {
	for _, l := range lines {
		s.bot.play(s.t.Context(), l)
	}
	synctest.Wait()
}

func (s *seat) sees(want string) {
	s.t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), s.glass.String()); diff != "" {
		s.t.Errorf("screen (-want +got):\n%s", diff)
	}
}

func (s *seat) leaves() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Error(err)
		}
	default:
		s.t.Error("still running")
	}
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 50, Options{Banner: "A demo model answers."}, "on message 日本?\nworking")
		s.sees("A demo model answers.\n>")
		s.types("日本?\r")
		s.sees(`
A demo model answers.
> 日本?
Thinking (Ctrl-C or stop ends it)
>`)
		s.plays("think 日本 is how Japan is written, which is what I would like to look up.")
		s.types("and hurr")
		s.plays(`call c1 wikipedia {"title":"日本"}`)
		s.sees(`
A demo model answers.
> 日本?
▾ step 1
Thought: 日本 is how Japan is written, which is …
Action: wikipedia {"title":"日本"}
> and hurr`)
		s.plays("observe c1 A country.")
		s.sees(`
A demo model answers.
> 日本?
▾ step 1
Thought: 日本 is how Japan is written, which is …
> and hurr`)
		s.plays("answer Japan.", "done 1s 10", "idle")
		s.sees(`
A demo model answers.
> 日本?
▸ 1 step · wikipedia · 1.0 s · 10+0 tokens
  (type steps to open)
Answer: Japan.
> and hurr`)
		s.types("\x04")
		s.types("\x15\x04")
		s.leaves()
		s.sees(`
A demo model answers.
> 日本?
▸ 1 step · wikipedia · 1.0 s · 10+0 tokens
  (type steps to open)
Answer: Japan.
`)
	})
}

// TestLiveTypedWhileItWorks: an Enter must not leave a copy of the region
// behind, nor the region take the typed line away.
func TestLiveTypedWhileItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 60, Options{}, `
			on message a
			working
			think one
			call c1 restart {}
			ask c1 restart {}
			on message bb
			seen
			on react ✅ c1
			outcome c1 Approved ada`)
		s.types("a\rbb\r")
		s.types("\r")
		s.types("y")
		s.sees(`
> a
> bb
Approval 1: restart {}
  Asked by ada · may approve: ada · until 12:30
  answer y or n (✅ 👍 / ❌ 👎); y 1 or n 1 while several
    wait; n 1 and why
(seen; it waits for the approval)
>
▾ step 1
Thought: one
Action: restart {}
> y`)
		s.types("\r")
		s.plays("idle")
		s.types("\x04")
		s.leaves()
		s.sees(`
> a
> bb
Approval 1: restart {}
  Asked by ada · may approve: ada · until 12:30
  answer y or n (✅ 👍 / ❌ 👎); y 1 or n 1 while several
    wait; n 1 and why
(seen; it waits for the approval)
>
> y
Approved by ada
`)
	})
}

// TestOldVersions: edits may be late, and then they change nothing; numbers
// of approvals that are decided are not given again.
func TestOldVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 90, Options{}, "on message a\nworking\nthink one\nthink two")
		s.types("a\r")
		old := chat.Post{Steps: &chat.Steps{Version: 1, Items: []chat.Step{{Thought: "one"}}}}
		edit := func() {
			t.Helper()
			if err := s.a.Edit(t.Context(), Thread, s.bot.stepsAt, old); err != nil {
				t.Error(err)
			}
		}
		edit()
		s.sees("> a\n▾ step 2\nThought: two\n>")
		s.plays("notice Failed.", "idle", "seen", "seen")
		s.sees("> a\nnod: Failed.\n(seen; it waits for the approval)\n>")
		s.plays("working", "answer late")
		edit()
		s.plays("idle")
		old.Steps.Version = 9
		edit() // after its answer, and without being the last
		s.plays("done 1s 1")
		edit()
		s.plays("ask c1 x {}", "outcome c1 Expired", "ask c2 x {}", "outcome c1 Expired", "outcome c2 Denied ada")
		s.sees(`
> a
nod: Failed.
(seen; it waits for the approval)
Answer: late
▸ 2 steps · 1.0 s · 1+0 tokens  (type steps to open)
Approval 1: x {}
  Asked by ada · may approve: ada · until 12:30
  answer y or n (✅ 👍 / ❌ 👎); y 1 or n 1 while several wait; n 1 and why
Expired
Approval 2: x {}
  Asked by ada · may approve: ada · until 12:30
  answer y or n (✅ 👍 / ❌ 👎); y 2 or n 2 while several wait; n 2 and why
Denied by ada
>`)
	})
}

func TestLivePaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 40, Options{}, "on message one\\ntwo\\nthree\nanswer ok\non message x\\ny\nworking\nanswer ok")
		s.types("\x1b[200~one\rtwo\rthree\x1b[201~\r")
		s.types("x\\\r")
		s.types("y\r")
		s.sees(`
> one
> two
. three
Answer: ok
> x\
. y
Answer: ok
Thinking (Ctrl-C or stop ends it)
>`)
		s.plays("idle")
		s.types("\x04")
		s.leaves()
	})
}

func TestInterrupt(t *testing.T) {
	tests := map[string]struct {
		script string
		do     func(s *seat)
		want   string
	}{
		"nothing runs": {"", func(s *seat) { s.types("\x03") }, ""},
		"twice": {"on message a\nworking\non halt", func(s *seat) {
			s.types("a\r")
			s.types("\x03")
			s.now = s.now.Add(time.Minute)
			s.types("\x03")
		}, "> a\n(stopping; Ctrl-C again leaves)\n"},
		"once a turn, at once": {"on message a\nworking\non halt\nnotice Stopped.\nidle\non message b\nworking\non halt\nnotice Stopped.\nidle", func(s *seat) {
			s.types("a\r")
			s.types("\x03")
			s.types("b\r")
			s.types("\x03")
			s.types("\x04")
		}, "> a\n(stopping; Ctrl-C again leaves)\nnod: Stopped.\n> b\n(stopping; Ctrl-C again leaves)\nnod: Stopped.\n"},
		"typed Ctrl-D": {"on message a\nworking\nanswer b\nidle", func(s *seat) { s.types("a\r"); s.types("\x04") }, "> a\nAnswer: b\n"},
		"Ctrl-C after Ctrl-D": {"on message a\nworking", func(s *seat) {
			s.types("a\r")
			s.types("\x04")
			s.types("\x03")
		}, "> a\n(leaving once this has ended; Ctrl-C leaves now)\n(the turn goes on when you come back)\n"},
		"an approval waits": {"on message a\nask c1 x {}\non halt\noutcome c1 Cancelled\nnotice Stopped.", func(s *seat) {
			s.types("a\r")
			s.types("\x03")
			s.types("\x04")
		}, "> a\nApproval 1: x {}\n  Asked by ada · may approve: ada · until 12:30\n" +
			"  answer y or n (✅ 👍 / ❌ 👎); y 1 or n 1 while several wait; n 1 and why\n(stopping; Ctrl-C again leaves)\nCancelled\nnod: Stopped.\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sit(t, 80, Options{}, tt.script)
				tt.do(s)
				s.leaves()
				s.sees(tt.want)
			})
		})
	}
}

// TestSignal: without a live screen, Ctrl-C comes as a signal.
func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		signals := make(chan os.Signal, 1)
		var out buffer
		b := newBot(t, "on message hi\nworking\non halt\nnotice Stopped.\nidle")
		a := start(b, Options{In: in, Out: &out, Screen: Screen{Prompt: true}, Interrupts: signals})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error)
		go b.run(ctx)
		go func() { ended <- a.Run(ctx) }()
		if _, err := io.WriteString(keys, "hi\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		signals <- os.Interrupt
		synctest.Wait()
		_ = keys.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got, want := out.String(), "> (stopping; Ctrl-C again leaves)\nnod: Stopped.\n> \n"; got != want {
			t.Errorf("output %q, want %q", got, want)
		}
	})
}

// TestLiveRegionFits: the region never grows beyond the screen, since what
// has scrolled off it could not be erased.
func TestLiveRegionFits(t *testing.T) {
	var b strings.Builder
	c := console{out: &b, screen: Screen{Size: func() (int, int) { return 20, 4 }}}
	c.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), &b}, "")
	calls := slices.Repeat([]chat.ToolCall{{Tool: "x", State: chat.CallRunning}}, 9)
	rows := liveRows(&chat.Steps{Status: "Running", Items: []chat.Step{{Thought: "t", Calls: calls}}})
	if want := (row{"  and 5 more", cyan}); rows[len(rows)-1] != want {
		t.Errorf("the last row is %v, want %v", rows[len(rows)-1], want)
	}
	if err := c.show(rows); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "\n"); got != 2 {
		t.Errorf("%d rows on a screen of 4: %q", got, b.String())
	}
}

func TestDetect(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	s := Detect(file, file, func(string) string { return "xterm" })
	if s.Prompt || s.Live || s.Color {
		t.Errorf("a file: %+v", s)
	}
	if w, h := s.Size(); w != 80 || h != 24 {
		t.Errorf("a file is %d by %d", w, h)
	}
	if _, err := s.Raw(); err == nil {
		t.Error("a file became raw")
	}
}

// A code is typed without being shown or remembered. What a paste sends around it is no
// part of it; one behind a word is refused and not kept.
func TestLiveCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 90, Options{}, "")
		p := approval("c1", "deploy {}")
		p.Ways, p.Digest = []chat.Way{chat.ByCode}, "0123456789abcdef"
		s.bot.Cards["c1"] = p
		if _, err := s.a.Post(t.Context(), Thread, chat.Post{Key: "ask/c1", Approval: &p}, false); err != nil {
			t.Fatal(err)
		}
		s.types("y 1 123456\r")
		s.types("\x1b[A") // the line before
		s.types("\x15y 1\r")
		s.types("65432\x7f\x7f")
		s.types("1\r") // is too short, and so wrong
		s.types("y\r")
		s.types("\x1b[200~123456\x1b[201~\rand")
		s.sees(`
Approval 1: deploy {}
  Asked by ada · may approve: ada · until 12:30
  answer y 1, and then your code when it is asked for; n 1 (❌ 👎) denies; n 1 and why
> y 1 123456
(a code is not kept in a line: write y 1, and it is asked for where one is needed)
> y 1
(type the code for approval 1, 0123456789ab; it is not shown)
(This code is wrong)
> y
(type the code for approval 1, 0123456789ab; it is not shown)
> and`)
		s.bot.Do(func() {
			want := chat.Code{Call: "c1", By: chat.User{ID: me, Name: "ada"}, Digest: p.Digest, Digits: "123456"}
			if len(s.bot.Codes) != 1 || s.bot.Codes[0] != want || len(s.bot.Messages) > 0 {
				t.Errorf("put %+v, %+v", s.bot.Codes, s.bot.Messages)
			}
		})
		s.bot.asks["c1"] = p
		s.plays("outcome c1 Approved ada", "working", "idle")
		s.types("\x15\x04")
		s.leaves()
	})
}

// From a pipe the next line is the code. None is asked for where the screen would show it.
func TestCodeLines(t *testing.T) {
	for prompt, want := range map[bool]string{false: "(type the code for approval 1, 0123; it is not shown)", true: "this terminal would show the code"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBot(t, "")
			var out buffer
			a := start(b, Options{In: strings.NewReader("y\n123456\n"), Out: &out, Screen: Screen{Prompt: prompt}})
			p := approval("c1", "deploy {}")
			p.Ways, p.Digest = []chat.Way{chat.ByCode}, "0123"
			b.Cards["c1"] = p
			_, _ = a.Post(t.Context(), Thread, chat.Post{Key: "ask/c1", Approval: &p}, false)
			ctx, stop := context.WithCancel(t.Context())
			go func() { _ = a.Run(ctx) }()
			synctest.Wait()
			stop()
			if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "123456") || (len(b.Codes) == 0) != prompt {
				t.Errorf("prompt %v: %q, %v", prompt, out.String(), b.Codes)
			}
		})
	}
}
