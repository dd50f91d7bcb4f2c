package recent

import (
	"fmt"
	"strings"
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

// Take returns a log once, without its trimmed or forgotten part.
func TestLogs(t *testing.T) {
	r := New()
	r.Put("a", "3", logOf(memory.Due{}, memory.Due{}), nil)
	r.Put("a", "4", logOf(memory.Due{}, memory.Due{}, memory.Due{}), nil)
	r.Put("cut", "1", logOf(memory.Due{}, memory.Due{}, memory.Trimmed{Before: 2}), nil)
	r.Put("forgotten", "1", logOf(memory.Due{}, memory.Trimmed{Before: 2}, memory.Forgot{Before: 3}), nil)
	for thread, want := range map[string][]string{"a": {"4", "1", "2", "3"}, "cut": {"1", "2", "3"}, "forgotten": {"1", "3"}, "b": {""}} {
		for _, want := range [][]string{want, {""}} {
			token, log, _ := r.Take(thread)
			got := []string{token}
			for _, e := range log {
				got = append(got, fmt.Sprint(e.Seq))
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

// Old threads make room, for threads and for bytes.
func TestLogsMakeRoom(t *testing.T) {
	r := New()
	for i := range mostThreads + 1 {
		r.Put(fmt.Sprint(i), "1", logOf(memory.Due{}), nil)
	}
	_, oldest, _ := r.Take("0")
	_, next, _ := r.Take("1")
	if oldest != nil || next == nil {
		t.Errorf("the oldest has %d entries, the next one %d", len(oldest), len(next))
	}
	long := func(bytes int) []memory.Entry {
		return logOf(memory.Step{Answer: strings.Repeat("x", bytes)})
	}
	r.Put("long", "1", long(mostBytes-1000), nil)
	r.Put("short", "1", long(10), nil)
	if len(r.items) > 4 || r.size > mostBytes {
		t.Errorf("%d bytes of %d threads", r.size, len(r.items))
	}
	r.Put("too long", "1", long(mostBytes+1), nil)
	if _, log, _ := r.Take("too long"); log != nil {
		t.Error("a log of more bytes than there may be in all is remembered")
	}
	if _, log, _ := r.Take("short"); log == nil {
		t.Error("the log that is too long took the place of one that fits")
	}
}

// The value computed from a log comes back with it, counts in its size, and goes with
// it.
func TestLogsKeep(t *testing.T) {
	r := New()
	whole, cut := logOf(memory.Due{}, memory.Due{}), logOf(memory.Due{}, memory.Trimmed{Before: 2})
	r.Put("a", "1", whole, nil)
	bare := r.size
	r.Put("a", "1", whole, "made")
	if r.size != bare+2*memory.BareKept {
		t.Errorf("%d bytes, and %d with what was made of it", bare, r.size)
	}
	r.Put("b", "1", cut, "made")
	for thread, want := range map[string]any{"a": "made", "b": nil} {
		if _, _, kept := r.Take(thread); kept != want {
			t.Errorf("%s: %v was kept, want %v", thread, kept, want)
		}
	}
	if r.size != 0 {
		t.Errorf("%d bytes of nothing", r.size)
	}
}
