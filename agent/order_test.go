package agent_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nod/agent"
	playing "nod/internal/script"
	"nod/memory"
	"nod/memory/sqlite"
)

// inOrder are the neighbours of which either would decide otherwise, and the conversation
// of agent/run that fails when they change places.
var inOrder = map[string]string{
	"decide > judge":    "order-votes",
	"judge > changing":  "order-change",
	"changing > expire": "order-late",
	"expire > clocks":   "escalate-down",
	"approved > edits":  "preview",
	"edits > summons":   "escalate",
	"forget > notices":  "order-forget",
	"again > askWhy":    "order-again",
}

// groupsInOrder are the groups that stand beside each other, with such a conversation each.
var groupsInOrder = map[string]string{
	"safety > decisions":  "order-stop",
	"decisions > drawing": "preview",
	"drawing > progress":  "order-help",
}

// neverBoth are the neighbours that have nothing to say of the same log.
var neverBoth = map[string]string{
	"unwritten > forget": "an approval waits only while its turn runs, and then nothing is forgotten",
	"turn > opening":     "no turn is opened while one runs",
	"opening > again":    "nothing is tried again while a message waits",
}

// theSame are the neighbours that may both have something to say, and of which people
// can't tell which went first: neither looks at what the other writes, or the first one
// has its say right after.
var theSame = map[string]string{
	"trouble > stop":         "a stop that is noted in a log that can't be read ends nothing more than the trouble does",
	"stop > revoking":        "a turn that was stopped uses no permission, and a revocation stops none",
	"revoking > tightened":   "what was allowed before is not asked at all, and so not asked anew",
	"tightened > asked":      "a question of a call that runs is not about one that still waits to be approved",
	"asked > decide":         "the same",
	"clocks > approved":      "a clock is of an approval that waits, and what begins is of one that does not",
	"summons > notifying":    "a card elsewhere is posted beside the thread, whenever it is noted that it shall be",
	"notifying > unwritten":  "who was not written to is known of a search that is over, and the other is not noted yet",
	"notices > refusals":     "two posts, of different things",
	"refusals > corrections": "two posts, of different things",
	"corrections > turn":     "the model is called beside, and is told of the correction either way",
	"askWhy > tidy":          "but for an answer that is more than 1,000 entries old, of which nobody would be asked any more",
}

// The lists tell the truth of each two rules that stand beside each other.
func TestOrder(t *testing.T) {
	seen := map[string][]string{} // the conversations in which both had something to say
	where := ""
	done := agent.Watch(func(pair [2]string) {
		name := strings.Join(pair[:], " > ")
		if !slices.Contains(seen[name], where) {
			seen[name] = append(seen[name], where)
		}
	})
	defer done()
	for _, where = range slices.Sorted(maps.Values(inOrder)) {
		t.Run(where, func(t *testing.T) { converse(t, where) })
	}
	where = "a crowd"
	rapid.Check(t, func(t *rapid.T) { newCrowd(t).plays() })
	for _, pair := range agent.Neighbours() {
		name := strings.Join(pair[:], " > ")
		witness, isOrdered := inOrder[name]
		_, isApart := neverBoth[name]
		_, isEither := theSame[name]
		switch {
		case isOrdered && !slices.Contains(seen[name], witness):
			t.Errorf("%s: either comes to the same in %s", name, witness)
		case isApart && len(seen[name]) > 0:
			t.Errorf("%s: both have something to say in %v", name, seen[name])
		case !isOrdered && !isApart && !isEither:
			t.Errorf("%s: say whether they may change places; both have something to say in %v", name, seen[name])
		}
	}
	if n := len(inOrder) + len(neverBoth) + len(theSame); n != len(agent.Neighbours()) {
		t.Errorf("%d pairs are listed, and there are %d", n, len(agent.Neighbours()))
	}
}

func converse(t *testing.T, name string) {
	playing.Play(t, filepath.Join("run", "testdata", name+".txtar"), func(ctx context.Context, dir string) (memory.Full, error) {
		return sqlite.Open(ctx, filepath.Join(dir, "nod.db"), sqlite.Options{})
	}, false)
}

// Each conversation of the lists fails when its rules, or its groups, change places. That
// is played in a process of its own, for here it would be this test that fails.
func TestSwapped(t *testing.T) {
	swapped := maps.Clone(inOrder)
	maps.Copy(swapped, groupsInOrder)
	const child = "NOD_TEST_SWAPPED"
	if os.Getenv(child) != "" {
		for pair, name := range swapped {
			t.Run(pair, func(t *testing.T) {
				defer agent.Swap(pair)()
				converse(t, name)
			})
		}
		return
	}
	for _, name := range groupsInOrder {
		t.Run(name, func(t *testing.T) { converse(t, name) })
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSwapped$", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	out, _ := cmd.CombinedOutput() // that it fails is what is wanted
	for pair, name := range swapped {
		if !strings.Contains(string(out), "--- FAIL: TestSwapped/"+strings.ReplaceAll(pair, " ", "_")+" (") {
			t.Errorf("%s: %s does not fail when they change places", pair, name)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
