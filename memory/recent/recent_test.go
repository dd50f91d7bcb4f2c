package recent

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/memory"
)

func logOf(bodies ...memory.Body) []memory.Entry {
	var out []memory.Entry
	for i, b := range bodies {
		out = append(out, memory.Entry{Seq: uint64(i + 1), Body: b})
	}
	return out
}

// What is remembered is given once, without what was left out or forgotten.
func TestLogs(t *testing.T) {
	r := New()
	r.Put("a", 3, logOf(memory.Due{}, memory.Due{}))
	r.Put("a", 4, logOf(memory.Due{}, memory.Due{}, memory.Due{}))
	r.Put("cut", 1, logOf(memory.Due{}, memory.Due{}, memory.Trimmed{Before: 2}))
	r.Put("forgotten", 1, logOf(memory.Due{}, memory.Trimmed{Before: 2}, memory.Forgot{Before: 3}))
	for thread, want := range map[string][]uint64{"a": {4, 1, 2, 3}, "cut": {1, 2, 3}, "forgotten": {1, 3}, "b": {0}} {
		for _, want := range [][]uint64{want, {0}} {
			token, log := r.Take(thread)
			got := []uint64{token}
			for _, e := range log {
				got = append(got, e.Seq)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: token and entries (-want +got):\n%s", thread, diff)
			}
		}
	}
	if r.size != 0 || r.order.Len() != 0 || len(r.items) != 0 {
		t.Errorf("%d entries of %d threads are left", r.size, len(r.items))
	}
}

// Old threads make room, for threads and for entries.
func TestLogsMakeRoom(t *testing.T) {
	r := New()
	for i := range mostThreads + 1 {
		r.Put(fmt.Sprint(i), 1, logOf(memory.Due{}))
	}
	_, oldest := r.Take("0")
	_, next := r.Take("1")
	if oldest != nil || next == nil {
		t.Errorf("the oldest has %d entries, the next one %d", len(oldest), len(next))
	}
	r.Put("long", 1, make([]memory.Entry, mostEntries))
	if r.size != mostEntries || len(r.items) != 1 {
		t.Errorf("%d entries of %d threads", r.size, len(r.items))
	}
}
