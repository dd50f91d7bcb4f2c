package schedules_test

import (
	"testing"

	"nod/agent/schedules"
	"nod/memory"
)

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
