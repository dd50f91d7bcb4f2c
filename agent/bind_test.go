package agent_test

import (
	"testing"

	"nod/agent"
	"nod/agent/do"
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
	open, ok := a.Next(agent.NewLog(entries, agent.Claim{})).(do.Open)
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

// A call does not run as another one: the tool's definition belongs to the approval. Where they changed people are asked anew, with the call as it is now, and
// what the earlier card says is one word.
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
		"auto":        func(a *agent.Agent) { a.Tools[0].Definition, a.Tools[0].Risk = "rm -r {env}", policy.Auto },
	} {
		for outcome, log := range map[string][]memory.Entry{
			"Cancelled":       askedBy(t, before()),
			"Approved by ada": append(approvedAt(askedBy(t, before())), entry(7, memory.Posted{Key: "outcome/d/running"})),
		} {
			after := before()
			change(after)
			all, act := older(t, after, log, agent.Claim{})
			if name == "nothing" {
				if _, runs := act.(do.Effect); runs != (outcome == "Approved by ada") || len(all) > 0 {
					t.Errorf("nothing changed: %+v, %+v", all, act)
				}
				continue
			}
			asked, ok := all[len(all)-1].(memory.Asked)
			old, edits := act.(do.Edit)
			if !ok || !asked.Redefined || asked.Digest == log[3].Body.(memory.Asked).Digest {
				t.Errorf("%s changed: %+v", name, all)
			}
			if want := outcome + " · the tool changed, asked again as approval 2"; !edits || old.Post.Approval.Headline != want {
				t.Errorf("%s changed, and then comes %+v", name, act)
			}
		}
	}
}

// An approved call that can't run any more has one word on its card: where its tool is off,
// where it was changed in the store, under another key, and where processes with different
// files would ask for ever.
func TestApprovedAndNeverBegun(t *testing.T) {
	t.Parallel()
	tool := func(change func(*agent.Agent)) *agent.Agent {
		a := asking(newTool("deploy", policy.Ask, anyone))
		change(a)
		return a
	}
	a := tool(func(*agent.Agent) {})
	approved := func() []memory.Entry {
		return append(approvedAt(askedBy(t, a)), entry(7, memory.Posted{Key: "outcome/d/running"}))
	}
	tampered, often := approved(), approved()
	tampered[2].Body = stepWith(1, 1, 2, memory.Call{ID: "d", Tool: "deploy", Args: `{"env":"all"}`, Object: true})
	asked := often[3].Body.(memory.Asked)
	asked.Again = 4
	often[3].Body, often[4].Body, often[6].Body = asked, memory.Posted{Key: "ask/d!4", Ref: ref("ask/d")}, memory.Posted{Key: "outcome/d!4/running"}
	const strange = "Cancelled · this call is not the one that was shown to the approvers"
	for _, x := range []struct {
		a    *agent.Agent
		log  []memory.Entry
		want string
	}{
		{tool(func(a *agent.Agent) { a.Tools[0].Risk = policy.Never }), approved(), "Cancelled · this tool is switched off by the configuration. Do without it, and say so."},
		{tool(func(a *agent.Agent) { a.Key = []byte("other") }), approved(), strange},
		{a, tampered, strange},
		{tool(func(a *agent.Agent) { a.Tools[0].Definition = "rm" }), tampered, strange},
		{tool(func(a *agent.Agent) { a.Tools[0].Definition = "rm" }), often, "Cancelled · the rules of who may approve it, or its tool, keep changing"},
	} {
		all, act := older(t, x.a, x.log, agent.Claim{})
		edit, ok := act.(do.Edit)
		if !ok || edit.Post.Approval.Headline != x.want || edit.Post.Approval.Outcome != chat.Cancelled || len(all) != 1 {
			t.Errorf("want %q, got %+v, %+v", x.want, all, act)
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
