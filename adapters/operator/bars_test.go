package operator

import (
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// Each model call, tool, wait and post has a bar from where it began to its entry.
func TestBars(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	var log []memory.Entry
	add := func(second int, b memory.Body) {
		log = append(log, memory.Entry{Seq: uint64(len(log) + 1), At: start.Add(time.Duration(second) * time.Second), Body: b})
	}
	add(0, memory.Message{})
	add(0, memory.Opened{Turn: 1})
	add(10, memory.Step{Took: 10 * time.Second})
	add(20, memory.Asked{Call: "c"})
	add(21, memory.Posted{Key: "ask/c", Ref: chat.MessageRef{ID: "1"}})
	add(80, memory.Decided{Call: "c"})
	add(100, memory.Result{Call: "c", Took: 1500 * time.Millisecond})
	add(100, memory.Ended{Turn: 1})
	add(500, memory.Message{})
	add(500, memory.Opened{Turn: 2})
	add(504, memory.Step{Took: 4 * time.Second})
	want := map[int]bar{
		2: {"model", "10.0 s", 0, 100}, 4: {"post", "1.0 s", 200, 10}, 5: {"wait", "1 min", 200, 600},
		6: {"tool", "1.5 s", 985, 15}, 10: {"model", "4.0 s", 0, 1000},
	}
	got := bars(log)
	for i, w := range want {
		if got[i] != w {
			t.Errorf("the bar of entry %d is %+v, want %+v", i, got[i], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("bars %+v, want %+v", got, want)
	}
	m := moment{Entries: make([]entryRow, 3)} // from the wait on: the turn begins before it
	if m.mark(log[:8], 5); m.Entries[0].Bar == nil || *m.Entries[0].Bar != want[5] || m.Entries[2].Bar != nil {
		t.Errorf("a window on the turn has the bars %+v", m.Entries)
	}
}
