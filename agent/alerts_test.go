package agent_test

import (
	"testing"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/memory"
)

// A store that lost its latest writes gives a number twice, and a process may die before it
// notes its post. What is posted under one name shows one state.
func TestLinesOfIncidents(t *testing.T) {
	line := func(times int) string {
		log := agent.NewLog([]memory.Entry{{Seq: 1, Body: memory.Message{
			Message: chat.Message{From: chat.AlertUser("pages")},
			Alert:   &memory.Alert{Name: "pages", Incident: "i", As: memory.AlertAgain, Times: times},
		}}}, agent.Claim{})
		p, ok := (&agent.Agent{}).Next(log).(do.Post)
		if !ok {
			t.Fatal("no line is posted")
		}
		return p.Post.Key
	}
	if a, b := line(1), line(2); a == b {
		t.Errorf("both are %s", a)
	}
}
