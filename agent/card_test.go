package agent_test

import (
	"testing"

	"nod/agent"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/chat"
	"nod/memory"
)

// A card shows what a call means, however the model wrote it: what would run is in
// it, and not the escapes that stand for it.
func TestCardShowsWhatRuns(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Ask, anyone))
	written := `{"b":"\u0070\u0072\u006f\u0064","a":"\\u0070"}`
	entries := entriesOf(
		from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}},
		stepWith(1, 1, 2, memory.Call{ID: "d", Tool: "deploy", Args: written, Object: true}),
	)
	open, ok := a.Next(agent.NewLog(entries, agent.Claim{})).(do.Open)
	if !ok {
		t.Fatal("it is not asked")
	}
	entries = append(entries, memory.Entry{Seq: 4, At: morning, Body: open.Asked[0]})
	post, ok := a.Next(agent.NewLog(entries, agent.Claim{})).(do.Post)
	if !ok || post.Post.Approval == nil {
		t.Fatal("no card follows")
	}
	if got, want := post.Post.Approval.Args, `{"a":"\\u0070","b":"prod"}`; got != want {
		t.Errorf("the card shows %s, want %s", got, want)
	}
}
