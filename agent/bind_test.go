package agent_test

import (
	"strings"
	"testing"

	"nod/agent"
	"nod/agent/policy"
	"nod/chat"
	"nod/memory"
)

// askedBy is a log in which a call waits for an approval that a build asked for.
func askedBy(t *testing.T, a *agent.Agent) []memory.Entry {
	t.Helper()
	entries := entriesOf(
		from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}},
		stepWith(1, 1, 2, memory.Call{ID: "d", Tool: "deploy", Args: `{"env":"prod"}`, Object: true}),
	)
	open, ok := a.Next(agent.NewLog(entries, agent.Claim{})).(agent.Open)
	if !ok {
		t.Fatal("it is not asked")
	}
	return append(entries, entry(4, open.Asked[0]), entry(5, memory.Posted{Key: "ask/d", Ref: ref("ask/d")}))
}

func entry(seq uint64, b memory.Body) memory.Entry {
	return memory.Entry{Seq: seq, At: morning, Body: b}
}

func approvedAt(entries []memory.Entry) []memory.Entry {
	return append(entries, entry(6, memory.Decided{Call: "d", Outcome: chat.Approved, By: []chat.User{{ID: "ada"}}}))
}

// An approved call does not run as another one: the tool's definition and the store's
// key belong to the approval.
func TestApprovalIsOfTheDefinition(t *testing.T) {
	t.Parallel()
	before := func() *agent.Agent {
		a := asking(newTool("deploy", policy.Ask, anyone))
		a.Key = []byte("key")
		a.Tools[0].Definition = "deploy.sh {env}"
		return a
	}
	for name, change := range map[string]func(*agent.Agent){
		"nothing":     func(*agent.Agent) {},
		"description": func(a *agent.Agent) { a.Tools[0].Description = "Delete all." },
		"parameters":  func(a *agent.Agent) { a.Tools[0].Parameters = []byte(`{"type":"object","minProperties":1}`) },
		"argv":        func(a *agent.Agent) { a.Tools[0].Definition = "rm -r {env}" },
		"key":         func(a *agent.Agent) { a.Key = []byte("other") },
	} {
		after := before()
		change(after)
		entries := append(approvedAt(askedBy(t, before())), entry(7, memory.Posted{Key: "outcome/d/running"}))
		act := after.Next(agent.NewLog(entries, agent.Claim{}))
		_, runs := act.(agent.Effect)
		if want := name == "nothing"; runs != want {
			t.Errorf("%s changed, and it runs: %v", name, runs)
		}
		if record, ok := act.(agent.Record); !runs && (!ok || !strings.Contains(record.Bodies[len(record.Bodies)-1].(memory.Result).Text, "denied: ")) {
			t.Errorf("%s changed: %+v", name, act)
		}
	}
}

// Nobody without the key can tell what a digest is of.
func TestDigestIsKeyed(t *testing.T) {
	t.Parallel()
	digest := func(key string) string {
		a := asking(newTool("deploy", policy.Ask, anyone))
		a.Key = []byte(key)
		return askedBy(t, a)[3].Body.(memory.Asked).Digest
	}
	a, again, b := digest("a"), digest("a"), digest("b")
	if a == b || a != again || len(a) != 64 {
		t.Errorf("digests %s, %s, %s", a, again, b)
	}
}
