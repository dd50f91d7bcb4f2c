package agent_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nod/agent"
	"nod/chat"
	playing "nod/internal/script"
	"nod/llm"
	"nod/memory"
	"nod/memory/sqlite"
)

// inOrder are the groups and the neighbours of which either would decide otherwise, and the
// conversation of agent/run that fails when they change places; "" where one of logs shows it.
var inOrder = map[string]string{
	"safety > decisions":  "order-stop",
	"decisions > drawing": "preview",
	"drawing > progress":  "order-help",

	"decide > judge":     "order-votes",
	"judge > changing":   "order-change",
	"changing > expire":  "order-late",
	"expire > clocks":    "escalate-down",
	"forget > notices":   "order-forget",
	"approved > edits":   "preview",
	"edits > summons":    "escalate",
	"corrections > turn": "", // people are told what a call did before its turn ends and is forgotten
	"again > askWhy":     "order-again",
}

// neverBoth are the neighbours that have nothing to say of the same log.
var neverBoth = map[string]string{
	"unwritten > forget": "an approval waits only while its turn runs, and then nothing is forgotten",
	"turn > opening":     "no turn is opened while one runs, and the times of schedules may be skipped after it",
	"opening > again":    "nothing is tried again while a message waits",
}

// theSame are the neighbours that may both have something to say, and of which people
// can't tell which went first: neither looks at what the other writes, or the first one
// has its say right after. From where both had, crowds come to the same either way.
var theSame = map[string]string{
	"trouble > prove":        "a card is read, and decides nothing in a thread that can't be read",
	"prove > older":          "either is of one call, and the other has its say right after",
	"older > stop":           "what was asked before the store came back older is over either way",
	"notices > restored":     "two posts, of different things",
	"restored > refusals":    "two posts, of different things",
	"stop > revoking":        "a turn that was stopped uses no permission, and a revocation stops none",
	"revoking > tightened":   "what was allowed before is not asked at all, and so not asked anew",
	"tightened > asked":      "a question of a call that runs is not about one that still waits to be approved",
	"asked > decide":         "the same",
	"clocks > approved":      "a clock is of an approval that waits, and what begins is of one that does not",
	"summons > notifying":    "a card elsewhere is posted beside the thread, whenever it is noted that it shall be",
	"notifying > unwritten":  "who was not written to is known of a search that is over, and the other is not noted yet",
	"refusals > corrections": "two posts, of different things",
	"askWhy > tidy":          "but for an answer that is more than 1,000 entries old, of which nobody would be asked any more",
}

// logs are those of which neighbours say different things, where a crowd hardly comes to one.
var logs = map[string][]memory.Body{
	"corrections > turn": {wrote("go on"), memory.Opened{Turn: 1, Name: "1"}, memory.Result{Call: "9-1-1", State: chat.CallDone}, wrote("forget")},
	"askWhy > tidy": append(slices.Repeat([]memory.Body{memory.Due{}}, 4000),
		wrote("go on"), memory.Opened{Turn: 4001, Name: "1"}, memory.Step{Turn: 4001, N: 1, Seen: 4001, Answer: "over"}, memory.Posted{Key: "answer/1", Ref: ref("a")},
		memory.Ended{Turn: 4001}, memory.Reaction{Reaction: chat.Reaction{On: ref("a"), Emoji: chat.EmojiBad}}),
}

func wrote(text string) memory.Body { return memory.Message{Message: chat.Message{Text: text}} }

// The lists tell the truth of each two rules that stand beside each other.
func TestOrder(t *testing.T) {
	seen := map[string][]string{}   // the conversations in which both had something to say
	crowds := map[string][]*crowd{} // and some of the crowds
	where, c := "", (*crowd)(nil)
	done := agent.WatchNeighbours(func(pair [2]string) {
		name := strings.Join(pair[:], " > ")
		if !slices.Contains(seen[name], where) {
			seen[name] = append(seen[name], where)
		}
		if theSame[name] != "" && where == "a crowd" && len(crowds[name]) < 20 {
			crowds[name] = append(crowds[name], c.still())
		}
	})
	for _, where = range slices.Compact(slices.Sorted(maps.Values(inOrder))) {
		t.Run(where, func(t *testing.T) { converse(t, where) })
	}
	where = "a crowd"
	seed := flag.Lookup("rapid.seed")
	defer func(was string) { _ = seed.Value.Set(was) }(seed.Value.String())
	for n := range map[bool]int{true: 10, false: 40}[testing.Short()] {
		_ = seed.Value.Set(strconv.Itoa(n + 1)) // the same crowds at each run
		rapid.Check(t, func(t *rapid.T) {
			c = newStirred(t)
			c.plays()
		})
	}
	done()
	for _, pair := range agent.Neighbours() {
		name := strings.Join(pair[:], " > ")
		witness, isOrdered := inOrder[name]
		_, isApart := neverBoth[name]
		_, isEither := theSame[name]
		switch {
		case isOrdered && witness != "" && !slices.Contains(seen[name], witness):
			t.Errorf("%s: either comes to the same in %s", name, witness)
		case isApart && len(seen[name]) > 0:
			t.Errorf("%s: both have something to say in %v", name, seen[name])
		case !isOrdered && !isApart && !isEither:
			t.Errorf("%s: say whether they may change places; both have something to say in %v", name, seen[name])
		}
		if bodies := logs[name]; bodies != nil {
			at := &crowd{sim: newSim(asking())}
			at.add(bodies...)
			if same := slices.Equal(at.comes(""), at.comes(name)); same != isEither {
				t.Errorf("%s: it comes to the same in its log: %v", name, same)
			}
		}
		for _, at := range crowds[name] {
			if diff := cmp.Diff(at.comes(""), at.comes(name)); diff != "" {
				t.Fatalf("%s: what comes of it when they change places: %s", name, diff)
			}
		}
	}
	if n := len(inOrder) + len(neverBoth) + len(theSame); n != len(agent.Neighbours())+3 {
		t.Errorf("%d pairs are listed, and there are %d, of groups 3", n, len(agent.Neighbours())+3)
	}
}

func converse(t *testing.T, name string) {
	if name == "" {
		return // logs show it
	}
	playing.Play(t, filepath.Join("run", "testdata", name+".txtar"), func(ctx context.Context, dir string) (memory.Full, error) {
		return sqlite.Open(ctx, filepath.Join(dir, "nod.db"), sqlite.Options{})
	}, false)
}

// Each conversation of inOrder fails when its rules, or its groups, change places. That is
// played in a process of its own, for here it would be this test that fails.
func TestSwapped(t *testing.T) {
	const child = "NOD_TEST_SWAPPED"
	cmd := exec.Command(os.Args[0], "-test.run=^TestSwapped$", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	var out []byte
	if os.Getenv(child) == "" {
		out, _ = cmd.CombinedOutput() // that it fails is what is wanted
		t.Logf("%s", out)
	}
	for pair, name := range inOrder {
		switch {
		case name == "":
		case os.Getenv(child) != "":
			t.Run(pair, func(t *testing.T) {
				defer agent.Swap(pair)()
				converse(t, name)
			})
		case !strings.Contains(string(out), "--- FAIL: TestSwapped/"+strings.ReplaceAll(pair, " ", "_")+" ("):
			t.Errorf("%s: %s does not fail when they change places", pair, name)
		}
	}
}

// newStirred is a crowd in which much happens while nod is at work, so that several
// rules have something to say.
func newStirred(t *rapid.T) *crowd {
	c := newCrowd(t)
	rules := anyone
	rules.Remind, rules.Channels, rules.Escalate = 10*time.Minute, []string{"ops"}, memory.Escalation{After: 15 * time.Minute, Approvers: []string{"user:eve"}}
	c.agent.Tools[0].Rules, c.check = rules, func(memory.Call) {}
	left, crash := rapid.IntRange(2, 20).Draw(t, "stirs"), c.crash
	c.crash = func() bool {
		for left > 0 && rapid.Bool().Draw(t, "stirs") {
			left--
			c.stirs()
		}
		return crash()
	}
	return c
}

func (c *crowd) stirs() {
	by, n := rapid.SampledFrom(folk).Draw(c.t, "by"), len(c.entries)
	things := [][]memory.Body{
		{c.text(by, "help")},
		{c.text(by, "stop")},
		{c.text(by, "forget")},
		{memory.Posted{Key: fmt.Sprintf("file/%d", n), Refused: "it is too long"}},
		{memory.Result{Call: fmt.Sprintf("%d-1-1", n), State: chat.CallDone}}, // of a call that was forgotten
		{memory.Granted{Number: n, Tool: "act", For: time.Hour, Uses: 2}, c.text(by, fmt.Sprint("revoke ", n))},
	}
	for _, at := range c.waiting() {
		missed := memory.Posted{Key: "copy/" + memory.Nth(at.Call, at.Again) + "/user:bob", Refused: "closed"}
		things = append(things, []memory.Body{memory.Question{ID: fmt.Sprint("q", n), Call: at.Call, By: "p0"}},
			[]memory.Body{memory.Notified{Call: at.Call, Places: []string{"user:bob"}, Of: []string{"anyone"}, People: folk[1:2]}, missed})
	}
	switch i := rapid.IntRange(0, len(things)+9).Draw(c.t, "stir"); {
	case i < len(things):
		c.add(things[i]...)
	case i < len(things)+2:
		c.now = c.now.Add(20 * time.Minute)
		c.add(memory.Due{})
	case i == len(things)+2:
		stricter := *c.agent
		stricter.Tools = slices.Clone(stricter.Tools)
		stricter.Tools[0].Rules.Quorum++
		c.agent = &stricter
	default:
		c.happens()
	}
}

// still is the crowd as it stands, with nothing left to chance.
func (c *crowd) still() *crowd {
	at, s := *c, *c.sim
	at.sim, s.entries, s.groups, s.crash = &s, slices.Clone(s.entries), maps.Clone(s.groups), newSim(nil).crash
	s.would, s.texts, s.held = at.wouldDo, nil, nil
	s.model = func(llm.Request) llm.Response { return llm.Response{Text: "over"} }
	return &at
}

// comes is what comes of it, in no order: entries, and what people read. Two rules change
// places first, where there is a pair.
func (c *crowd) comes(pair string) (out []string) {
	if pair != "" {
		defer agent.Swap(pair)()
	}
	s := c.still()
	for until := s.run(); !until.IsZero(); until = s.run() {
		s.now = until
		s.add(memory.Due{})
	}
	for _, e := range s.entries[len(c.entries):] {
		raw, err := json.Marshal(e.Body)
		out = append(out, fmt.Sprint(e.Body.Kind(), string(raw), err))
	}
	return slices.Sorted(slices.Values(append(out, s.texts...)))
}
