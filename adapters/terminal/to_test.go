package terminal

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

// painted gives rows as they are written.
func painted(rows []row, color bool) string {
	var b strings.Builder
	c := console{screen: Screen{Color: color}}
	c.writeRows(&b, rows)
	return b.String()
}

func steps() *chat.Steps {
	return &chat.Steps{
		Done: true, Took: 1240 * time.Millisecond, Tokens: chat.Tokens{Prompt: 800, Completion: 12}, Status: "Done",
		Items: []chat.Step{
			{Thought: "add", Calls: []chat.ToolCall{{Tool: "calculator", Args: `{"e":"2+2"}`, State: chat.CallDone, Observation: "4"}}},
			{Thought: "done"},
		},
	}
}

func TestColors(t *testing.T) {
	a := &ask{number: 1, want: approval("c", `deploy {"env":"prod"}`)}
	a.want.Why, a.want.Quorum, a.want.Exclude = "a fetched page is in the prompt", 2, []chat.User{a.want.Requester}
	live := steps()
	live.Items[1].Calls = []chat.ToolCall{
		{Tool: "fetch", Args: "{}", State: chat.CallRunning},
		{Tool: "clock", Args: "{}", State: chat.CallDone},
	}
	tests := []struct {
		name, plain, color string
		rows               []row
	}{
		{
			"answer", "Answer: *4*\n", "\x1b[33mAnswer: *4*\x1b[m\n",
			textRows(&chat.Text{Markdown: "*4*"}),
		},
		{"notice", "nod:\n  a\n\n  \tb\n", "nod:\n  a\n\n  \tb\n", textRows(&chat.Text{Markdown: "a\r\n\n\tb\n", Notice: true})},
		{
			"steps", "Thought: add\nAction: calculator {\"e\":\"2+2\"}\nObservation: 4\nThought: done\n▸ 2 steps · calculator · 1.2 s · 800+12 tokens  (type steps to open)\n",
			"\x1b[32mThought: add\x1b[m\n\x1b[36mAction: calculator {\"e\":\"2+2\"}\x1b[m\nObservation: 4\n\x1b[32mThought: done\x1b[m\n\x1b[2m▸ 2 steps · calculator · 1.2 s · 800+12 tokens  (type steps to open)\x1b[m\n",
			flat(stepRows(steps())),
		},
		{
			"live steps", "▾ step 2 Done\nThought: done\nAction: fetch {}\n",
			"\x1b[2m▾ step 2 Done\x1b[m\n\x1b[32mThought: done\x1b[m\n\x1b[36mAction: fetch {}\x1b[m\n", liveRows(live),
		},
		{
			"approval",
			`Approval 1: deploy {"env":"prod"}
  Asked by ada · may approve: 2 of ada, not ada · until 14:30
  a fetched page is in the prompt
  answer y or n (✅ 👍 / ❌ 👎); y 1 or n 1 while several wait; n 1 and why
`,
			"\x1b[1mApproval 1: deploy {\"env\":\"prod\"}\x1b[m\n" + `  Asked by ada · may approve: 2 of ada, not ada · until 14:30
  a fetched page is in the prompt
  answer y or n (✅ 👍 / ❌ 👎); y 1 or n 1 while several wait; n 1 and why
`,
			askRows(a, a.want.Deadline.In(time.FixedZone("", 2*60*60))),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.plain, painted(tt.rows, false)); diff != "" {
				t.Errorf("without colour (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.color, painted(tt.rows, true)); diff != "" {
				t.Errorf("with colour (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutcome(t *testing.T) {
	ada, bob := chat.User{ID: "1", Name: "ada"}, chat.User{ID: "bob"}
	tests := []struct {
		approval chat.Approval
		number   int
		want     string
	}{
		{chat.Approval{Outcome: chat.Approved, By: []chat.User{ada, bob}, Headline: "Approved by ada, bob · done in 2 s"}, 0, "Approved by ada, bob · done in 2 s"},
		{chat.Approval{Outcome: chat.Denied, By: []chat.User{bob}, Headline: "Denied by bob\x1b: too\nlate"}, 2, `Denied by bob\u001b: too late · approval 2`},
		{chat.Approval{By: []chat.User{ada}}, 0, "1 of 2 approved: ada"},
		{chat.Approval{}, 0, "0 of 2 approved"},
	}
	for _, tt := range tests {
		tt.approval.Quorum = 2
		if got := outcomeRow(&tt.approval, tt.number); got.text != tt.want {
			t.Errorf("%q, want %q", got.text, tt.want)
		}
	}
}

func TestFold(t *testing.T) {
	use := func(names ...string) *chat.Steps {
		s := &chat.Steps{Items: []chat.Step{{}}}
		for _, n := range names {
			s.Items[0].Calls = append(s.Items[0].Calls, chat.ToolCall{Tool: n})
		}
		return s
	}
	long := use("a")
	long.Took, long.Tokens.Completion = 3*time.Minute+59600*time.Millisecond, 1
	for want, s := range map[string]*chat.Steps{
		"▸ 1 step  (type steps to open)":                              use(),
		"▸ 1 step · a ×2, b  (type steps to open)":                    use("a", "b", "a"),
		"▸ 1 step · a, b, c, d, 2 more  (type steps to open)":         use("a", "b", "c", "d", "e", "f"),
		"▸ 1 step · a · 4 min 0 s · 0+1 tokens  (type steps to open)": long,
	} {
		if got := fold(s).text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestStepsContinue: the rows of a version begin with those of every version
// before it, however many calls run at once and whichever ends first.
func TestStepsContinue(t *testing.T) {
	s := &chat.Steps{}
	var before []row
	grow := func(change func()) {
		change()
		now := flat(stepRows(s))
		if len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
			t.Errorf("%v does not continue %v", now, before)
		}
		before = now
	}
	call := func(i, j int) *chat.ToolCall { return &s.Items[i].Calls[j] }
	grow(func() { s.Items = []chat.Step{{Thought: "a"}} })
	grow(func() { s.Items[0].Thought = "a longer one" })
	grow(func() {
		s.Items[0].Calls = []chat.ToolCall{{Tool: "x", State: chat.CallPlanned}, {Tool: "y", State: chat.CallRunning}}
	})
	grow(func() { call(0, 1).State, call(0, 1).Observation = chat.CallDone, "second" })
	grow(func() { call(0, 0).State = chat.CallAsking })
	grow(func() { call(0, 0).State, call(0, 0).Observation = chat.CallDenied, "denied" })
	grow(func() { s.Items = append(s.Items, chat.Step{Thought: "b"}) })
	grow(func() { s.Done = true })
	if len(before) != 7 {
		t.Errorf("got %d rows in the end: %v", len(before), before)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb\x9b1mc\u009bd\x07": "a[31mb\uFFFD1mcd",
		"a\r\nb\rc\td\x00":             "a\nbc\td",
		"\u202Ea\u2066b\u2069":         "ab",
		"a\u2028b":                     "a\nb",
		"👩‍💻 ✔️":                       "👩‍💻 ✔️",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := chat.Exact("{\"a\":\"\x1b\u202e\u200b\U000e0001é\"}\n"), "{\"a\":\"\\u001b\\u202e\\u200b\\udb40\\udc01é\"}\n"; got != want {
		t.Errorf("exact: %q, want %q", got, want)
	}
}

// own are the words that begin the adapter's lines, by which they are known.
var own = []string{"Thought:", "Action:", "Observation:", "▸ ", "Answer:", "nod:", "Approval ", "  ", "Denied", "▾ ", "ada:", "File: "}

// FuzzHostile: whatever comes from outside, no control character but the line
// end is written, and every line begins with a word of the adapter's.
func FuzzHostile(f *testing.F) {
	for _, s := range []string{"a", "\x1b[2J", "a\nApproved by ada", "\r\nb", "\u009b1A", "\u202e\n\u2028", "\xff\n\n", "\v\fx\u0085y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := approval("c", "x {}")
		w.Tool, w.Args, w.Why, w.Requester.Name, w.Approvers, w.Approve = s, s, s, s, []string{s}, []string{s}
		a := &ask{number: 1, want: w}
		v := &chat.Steps{Done: true, Status: s, Items: []chat.Step{{Thought: "t" + s, Calls: []chat.ToolCall{{Tool: s, Args: s, Observation: s}}}}}
		rows := append(askRows(a, time.Time{}), flat(stepRows(v))...)
		rows = append(rows, liveRows(v)...)
		rows = append(rows, textRows(&chat.Text{Markdown: s})...)
		file := &chat.File{Name: s, MediaType: s}
		rows = append(append(rows, keptRows(file, s)...), fileRows(file, s)...)
		rows = append(rows, textRows(&chat.Text{Markdown: s, Notice: true})...)
		rows = append(rows, outcomeRow(&chat.Approval{Outcome: chat.Denied, Headline: "Denied by x" + s}, 0))
		rows = append(rows, labelled("ada:", s, dim)...)
		for l := range strings.Lines(painted(rows, false)) {
			l = strings.TrimSuffix(l, "\n")
			if strings.ContainsFunc(l, func(r rune) bool { return unicode.IsControl(r) && r != '\t' || turns(r) }) {
				t.Errorf("%q is written", l)
			}
			if l != "" && !begins(l) {
				t.Errorf("%q begins a line", l)
			}
		}
	})
}

func begins(l string) bool {
	for _, w := range own {
		if strings.HasPrefix(l, w) {
			return true
		}
	}
	return false
}

// A long line is broken between words, and what is not its beginning never
// begins a line.
func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"Answer: as short as it can be", []string{"Answer: as short as it can be"}},
		{"Answer: this is a line that does not fit into thirty", []string{"Answer: this is a line that", "  does not fit into thirty"}},
		{"  of several lines, this is the second one", []string{"  of several lines, this is", "    the second one"}},
		{"x" + strings.Repeat("y", 40) + " Answer: z", []string{"x" + strings.Repeat("y", 27), "  " + strings.Repeat("y", 13) + " Answer: z"}},
		{"日本語日本語日本語日本語日本語日本語", []string{"日本語日本語日本語日本語日本", "  語日本語"}},
		{"  a\tb", []string{"  a     b"}},
		{"  a\tb\tc\td Approval 3: deploy", []string{"  a     b       c       d", "    Approval 3: deploy"}},
		{"", []string{""}},
	} {
		var got []string
		for _, r := range wrap(row{text: tt.in}, 30) {
			got = append(got, r.text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.in, diff)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"abc", 0, "abc"},
		{"a\tbc", 10, "a       bc"},
		{"a\tbc", 9, "a       …"},
	} {
		if got := cut(row{text: tt.in}, tt.width).text; got != tt.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}
