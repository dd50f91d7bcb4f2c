package agent_test

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// size is a request as the budget counts it, at a token a byte.
func size(req llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		n += len(m.Text) + len(m.Echo)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args) + len(c.ID)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return n
}

// paired says whether every call is followed by its result, in order, and no
// result stands without its call.
func paired(req llm.Request) error {
	var open []string
	for i, m := range req.Messages {
		if m.Role == llm.ToolRole {
			if len(open) == 0 || open[0] != m.CallID {
				return fmt.Errorf("message %d answers %q, but %v is open", i, m.CallID, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no result for %v", open)
	}
	return nil
}

func bytes(s string) int { return len(s) }

// With any events in a thread, no prompt exceeds the budget, no call is parted from its
// result, nothing changes its order, and the newest message is there.
func TestPromptProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := dialects[rapid.SampledFrom(slices.Sorted(maps.Keys(dialects))).Draw(t, "protocol")]
		budget := rapid.IntRange(3000, 9000).Draw(t, "budget")
		a := &agent.Agent{
			Instructions: "Be brief.", Protocol: d.Protocol, MaxSteps: 5, Budget: budget, Count: bytes,
			Tools:   []policy.Tool{newTool("read", policy.Auto, memory.Rules{})},
			Summary: rapid.Bool().Draw(t, "summary"),
		}
		s := newSim(a)
		s.summary = func(llm.Request) llm.Response {
			return llm.Response{Text: strings.Repeat("y", rapid.SampledFrom([]int{0, 30, 5000}).Draw(t, "summary of"))}
		}
		turns := rapid.IntRange(1, 20).Draw(t, "turns")
		for i := range turns {
			left := rapid.IntRange(0, 4).Draw(t, "steps")
			s.model = func(llm.Request) llm.Response {
				if left == 0 {
					return llm.Response{Text: d.answer(text(t, "answer", i))}
				}
				left--
				r := d.call("read", fmt.Sprintf(`{"q":%q,"n":%d}`, text(t, "args", i), left))
				if len(r.Calls) == 0 {
					return r // a text protocol has one call at a time
				}
				if n := rapid.SampledFrom([]int{0, 40, 2500}).Draw(t, "echo"); n > 0 {
					r.Echo = llm.Echo(`"` + strings.Repeat("e", n) + `"`)
				}
				for k := range rapid.IntRange(0, 2).Draw(t, "more calls") {
					r.Calls = append(r.Calls, llm.Call{ID: fmt.Sprint(i, left, k), Name: "read", Args: fmt.Sprintf(`{"q":%q,"n":%d}`, text(t, "args", i), left)})
				}
				return r
			}
			s.says("ada", text(t, "message", i))
			s.run()
		}
		checkPrompts(t, s, budget)
	})
}

func text(t *rapid.T, what string, i int) string {
	n := rapid.SampledFrom([]int{0, 5, 40, 300, 2500}).Draw(t, what)
	return fmt.Sprintf("%s %d %s", what, i, strings.Repeat("x", n))
}

// asked finds the messages of the property in a prompt.
var asked = regexp.MustCompile(`ada: message (\d+)`)

// Calls and results as the text protocols write them, the templates' own left out.
var (
	writtenCall   = regexp.MustCompile(`(?m)^Action( Input| \d+): ?(\{|Read\[)`)
	writtenResult = regexp.MustCompile(`(?m)^Observation( \d+)?: (read|no result|\[a result)`)
)

// writtenOut counts the calls and the results that a text protocol wrote out.
func writtenOut(req llm.Request) (calls, results int) {
	for _, m := range req.Messages {
		calls += len(writtenCall.FindAllString(m.Text, -1))
		results += len(writtenResult.FindAllString(m.Text, -1))
	}
	return calls, results
}

func checkPrompts(t *rapid.T, s *sim, budget int) {
	for i, req := range s.prompts {
		if n := size(req); n > budget {
			t.Fatalf("prompt %d has %d tokens, over the budget of %d", i, n, budget)
		}
		if err := paired(req); err != nil {
			t.Fatalf("prompt %d: %v", i, err)
		}
		if calls, results := writtenOut(req); calls != results {
			t.Fatalf("prompt %d writes out %d calls and %d results:\n%s", i, calls, results, flat(req))
		}
		last := -1
		for _, m := range req.Messages {
			var turn int
			if m.Role != llm.User {
				continue
			}
			for _, found := range asked.FindAllStringSubmatch(m.Text, -1) {
				turn, _ = strconv.Atoi(found[1])
				if turn <= last {
					t.Fatalf("prompt %d: message %d stands behind %d", i, turn, last)
				}
				last = turn
			}
		}
		if last < 0 {
			t.Fatalf("prompt %d holds no message of a person", i)
		}
	}
}

// shared is how much of a prompt is the beginning of the next one.
func shared(a, b llm.Request) float64 {
	x, y := flat(a), flat(b)
	n := sort.Search(min(len(x), len(y)), func(i int) bool { return x[:i+1] != y[:i+1] })
	return float64(n) / float64(len(x))
}

func flat(req llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		b.WriteString(string(m.Role) + "|" + m.Text + "|" + m.CallID + "|")
		for _, c := range m.Calls {
			b.WriteString(c.ID + c.Name + c.Args + "|")
		}
	}
	return b.String()
}

// longThread plays turns of one look-up each, and says how much of a prompt
// its predecessor shared on average, and how large the largest was.
func longThread(t testing.TB, p dialect, turns, budget int, summary bool, more ...func(*sim)) (share float64, worst int) {
	a := &agent.Agent{
		Instructions: "Be brief.", Protocol: p.Protocol, MaxSteps: 5, Budget: budget, Summary: summary, Count: func(s string) int { return len(s)/4 + 1 },
		Tools:  policy.Set{newTool("read", policy.Auto, memory.Rules{}), newTool("skill", policy.Auto, memory.Rules{})},
		Skills: []policy.Skill{{Name: "incident", Description: "How we handle an outage."}},
	}
	s := newSim(a)
	for _, add := range more {
		add(s)
	}
	s.summary = func(llm.Request) llm.Response {
		return llm.Response{Text: p.answer(strings.Repeat("Ada asked about this and that. ", 20))}
	}
	looked := false
	s.model = func(req llm.Request) llm.Response {
		if err := paired(req); err != nil {
			t.Errorf("a call is parted from its result: %v", err)
		}
		if looked = !looked; looked {
			return p.call("read", fmt.Sprintf(`{"q":"%s","n":%d}`, strings.Repeat("q", 40), len(s.entries)))
		}
		return llm.Response{Text: p.answer(strings.Repeat("The answer is a sentence or two long. ", 6))}
	}
	for i := range turns {
		s.says("ada", fmt.Sprintf("question %d: %s", i, strings.Repeat("what about this one? ", 5)))
		s.run()
		s.prompts = s.prompts[max(0, len(s.prompts)-3):]
		if i == 0 {
			continue
		}
		for k := 1; k < len(s.prompts); k++ {
			share += shared(s.prompts[k-1], s.prompts[k]) / float64(len(s.prompts)-1)
			worst = max(worst, size(s.prompts[k])/4)
		}
	}
	return share / float64(turns-1), worst
}

// dialect is a protocol, and how a model that speaks it says things.
type dialect struct {
	speak.Protocol
	call   func(tool, args string) llm.Response
	answer func(text string) string
}

var dialects = map[string]dialect{
	"tools": {speak.NativeTools{}, func(tool, args string) llm.Response {
		return llm.Response{Calls: []llm.Call{{ID: "w", Name: tool, Args: args}}}
	}, func(text string) string { return text }},
	"react": {speak.React{}, func(tool, args string) llm.Response {
		return llm.Response{Text: "I look it up.\nAction: " + tool + "\nAction Input: " + args}
	}, func(text string) string { return "I know it now.\nFinal Answer: " + text }},
	"numbered": {speak.Numbered{}, func(tool, args string) llm.Response {
		return llm.Response{Text: "Thought 1: I look it up.\nAction 1: " + tool + "[" + args + "]"}
	}, func(text string) string { return "Thought 2: I know it now.\nAction 2: Finish[" + text + "]" }},
}

// TestMain has properties checked a few times; `make long` does so many thousand times.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	m.Run() // which reads the flags that were given
}

var turns = flag.Int("turns", 300, "how many turns TestStablePrefix plays in each thread")

// Over many turns a prompt begins, nearly always, with the whole of the one
// before it, which is what the providers' caches want, and is never over the
// budget; whichever way the model speaks, with summaries and without.
func TestStablePrefix(t *testing.T) {
	t.Parallel()
	n := *turns
	if testing.Short() {
		n /= 2 // which are trimmed once
	}
	for name, d := range dialects {
		for _, summary := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s summary=%v", name, summary), func(t *testing.T) {
				t.Parallel()
				share, worst := longThread(t, d, n, 16000, summary)
				if share < 0.95 {
					t.Errorf("prompts share %.3f of their predecessor, want at least 0.95", share)
				}
				if worst > 16000 {
					t.Errorf("a prompt has %d tokens, over the budget", worst)
				}
				t.Logf("%.1f %% shared, at most %d tokens", 100*share, worst)
			})
		}
	}
}

// So it is in a room with facts and skills.
func TestStablePrefixOfRoom(t *testing.T) {
	t.Parallel()
	var in *sim
	share, _ := longThread(t, dialects["tools"], 50, 16000, false, func(s *sim) {
		in = s
		s.agent.Room = agent.Room{Instructions: "You help whoever is on call."}
		s.agent.Instructions += "\n\n" + s.agent.Room.Instructions
		s.agent.Facts = policy.Facts{Most: 50, Size: 300}
		s.agent.Skills = []policy.Skill{{Name: "incident", Description: "What to do first."}, {Name: "release", Description: "How a release goes."}}
		s.agent.Tools = append(s.agent.Tools, newTool("skill", policy.Auto, memory.Rules{}))
		for i := range 20 {
			s.book.Add(memory.Fact{ID: fmt.Sprint(i), Text: fmt.Sprintf("fact %d: no deploys on Friday", i), By: chat.User{ID: "ada", Name: "ada"}, At: s.now}, 50)
		}
	})
	if share < 0.97 {
		t.Errorf("prompts share %.3f of their predecessor, want at least 0.97", share)
	}
	if last := fmt.Sprint(in.prompts[len(in.prompts)-1]); !strings.Contains(last, "fact 19: ") || !strings.Contains(last, "What to do first.") {
		t.Errorf("the last prompt lacks facts or skills:\n%s", last)
	}
	t.Logf("%.1f %% shared", 100*share)
}

// Without a bound, and where it has to be counted what fits.
func BenchmarkNextLongThread(b *testing.B) {
	fours := func(text string) int { return len(text) / 4 }
	for name, budget := range map[string]int{"whole": 0, "counted": 16_000} {
		b.Run(name, func(b *testing.B) {
			a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 5, Count: fours, Budget: budget, Tools: []policy.Tool{newTool("read", policy.Auto, memory.Rules{})}}
			s := newSim(a)
			s.model = func(llm.Request) llm.Response { return llm.Response{Text: "yes"} }
			for range 1000 {
				s.says("ada", "and what of this? "+strings.Repeat("it was slow again around noon ", 2))
				s.run()
			}
			s.says("ada", "last")
			b.ReportMetric(float64(len(s.entries)), "entries")
			log := s.log()
			for b.Loop() {
				a.Next(log)
			}
		})
	}
}

func BenchmarkStablePrefix(b *testing.B) {
	for b.Loop() {
		share, _ := longThread(b, dialects["tools"], 200, 16000, false)
		b.ReportMetric(share*100, "%shared")
	}
}
