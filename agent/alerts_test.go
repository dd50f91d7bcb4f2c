package agent_test

import (
	"testing"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/memory"
)

// A store that lost its latest writes gives a number twice. The lines of two incidents under
// one number are two posts.
func TestLinesOfIncidents(t *testing.T) {
	line := func(id string) string {
		log := agent.NewLog([]memory.Entry{{Seq: 1, Body: memory.Message{
			Message: chat.Message{From: chat.AlertUser("pages")},
			Alert:   &memory.Alert{Name: "pages", ID: id, Incident: "i", As: memory.AlertAgain, Times: 1},
		}}}, agent.Claim{})
		p, ok := (&agent.Agent{}).Next(log).(do.Post)
		if !ok {
			t.Fatal("no line is posted")
		}
		return p.Post.Key
	}
	if a, b := line("a"), line("b"); a == b {
		t.Errorf("both are %s", a)
	}
}
