package schedules_test

import (
	"testing"
	"time"

	"nod/agent/policy"
	"nod/agent/schedules"
	"nod/chat"
	"nod/memory"
)

// A time between two ticks of a store's clock would be claimed again and again until the
// next tick.
func TestPlanHasTheStoresClock(t *testing.T) {
	t.Parallel()
	heard := time.Date(2026, 11, 29, 9, 0, 0, 123_456_789, time.UTC)
	p, why := schedules.Plan(policy.Schedules{Thread: 1}, func(chat.User) string { return "UTC" }, chat.Message{Text: "in 2m: look"}, heard)
	if p == nil {
		t.Fatal(why)
	}
	if at := p.Next(time.Time{}); !at.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("it is due at %v", at)
	}
}

// A tool without its schema would take any arguments, and one that may be granted would not
// always ask.
func TestScheduleTool(t *testing.T) {
	t.Parallel()
	tool := schedules.Tool(memory.Rules{Grants: memory.Grants{Most: 1, Uses: 1}})
	if tool.Schema == nil || tool.Rules.Grants != (memory.Grants{}) {
		t.Errorf("it has the schema %v and the grants %v", tool.Schema, tool.Rules.Grants)
	}
	if why, _ := tool.Unfit(`{"when":"in 1h"}`); why == "" {
		t.Error("it takes a call without a text")
	}
}
