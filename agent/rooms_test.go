package agent

import (
	"testing"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// A room has its own rules, and leaves the team's as they are.
func TestRoomNarrows(t *testing.T) {
	team := memory.Rules{Quorum: 1, Timeout: time.Hour}
	strict := memory.Rules{Quorum: 2, Timeout: time.Minute, By: []chat.Way{chat.ByCode}}
	a := &Agent{
		Tools: policy.Set{{Tool: llm.Tool{Name: "act"}, Rules: team}, {Tool: llm.Tool{Name: "look"}, Rules: team}},
		Rooms: map[string]Room{"slack:C1": {Without: map[string]bool{"look": true}, Rules: map[string]memory.Rules{"act": strict}}},
	}
	in := a.In("slack:C1")
	if tool, ok := in.Tools.Find("act"); !ok || tool.Rules.Quorum != 2 || !tool.OwnTimeout {
		t.Errorf("in the room: %+v", tool)
	}
	if _, ok := in.Tools.Find("look"); ok {
		t.Error("the room has a tool that is not there")
	}
	if tool, _ := a.In("slack:C2").Tools.Find("act"); tool.Rules.Quorum != 1 || tool.OwnTimeout || len(a.Tools) != 2 {
		t.Errorf("elsewhere: %+v", tool)
	}
	if !a.Codes() {
		t.Error("a code is kept in the log, as only a room asks for one")
	}
}
