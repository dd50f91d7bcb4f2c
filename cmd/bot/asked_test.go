package main

import (
	"fmt"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/redistest"
)

// insatiable wants sixteen things done, and says what came of the last.
func insatiable(r fakellm.Request) fakellm.Reply {
	if r.Last().Role == "tool" {
		return fakellm.Reply{Text: "The tool says: " + r.Last().Text()}
	}
	var reply fakellm.Reply
	for i := range 16 {
		reply.Calls = append(reply.Calls, fakellm.Call{Name: "deploy", Args: fmt.Sprintf(`{"env":"e%02d"}`, i)})
	}
	return reply
}

// One person has 32 approvals waiting at most, though two processes ask for them.
func TestTooManyOfTwoPrograms(t *testing.T) {
	t.Parallel()
	n := newService(t, unlimitedSlack(t), insatiable, setup{store: redistest.Start(t).URL()})
	other := *n
	other.http = freeAddr(t)
	other.file = n.rewrite("second.yaml", n.http, other.http)
	one, two := n.spawn(), other.spawn()
	defer one.kill()
	defer two.kill()
	n.ready()
	other.ready()
	const threads = 6
	var asked []place
	for range threads {
		asked = append(asked, n.w.mention("ada", "deploy everything"))
	}
	cards, told := 0, 0
	eventually(t, "all have come to an end or wait", func() bool {
		cards, told = 0, 0
		for _, at := range asked {
			for i := range 16 {
				cards += n.count(at, "pprove", fmt.Sprintf(`"env":"e%02d"`, i))
			}
			told += n.count(at, "The tool says: denied: too many approvals wait")
		}
		return told == threads-2 && cards >= 32
	})
	if cards != 32 {
		t.Errorf("%d cards ask, want 32", cards)
	}
}
