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
	r := &Logs{}
	r.Put(Log{Thread: "a", Entries: logOf(memory.Due{}, memory.Due{})})
	r.Put(Log{Thread: "a", Entries: logOf(memory.Due{}, memory.Due{}, memory.Due{})})
	r.Put(Log{Thread: "cut", Entries: logOf(memory.Due{}, memory.Due{}, memory.Trimmed{Before: 2})})
	r.Put(Log{Thread: "forgotten", Entries: logOf(memory.Due{}, memory.Trimmed{Before: 2}, memory.Forgot{Before: 3})})
	r.Put(Log{Thread: "alert", Entries: logOf(memory.Due{}, memory.Due{}, memory.Due{}, memory.Trimmed{Before: 4, From: 2})})
	for thread, want := range map[string][]string{"a": {"1", "2", "3"}, "alert": {"2", "3", "4"}, "cut": {"2", "3"}, "forgotten": {"3"}, "b": nil} {
		for _, want := range [][]string{want, nil} {
			var got []string
			for _, e := range r.Take(thread).Entries {
				got = append(got, fmt.Sprint(e.Seq))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: entries (-want +got):\n%s", thread, diff)
			}
		}
	}
	if r.size != 0 || len(r.logs) != 0 {
		t.Errorf("%d entries of %d threads are left", r.size, len(r.logs))
	}
}

// Old threads make room, for threads and for bytes.
func TestLogsMakeRoom(t *testing.T) {
	r := &Logs{}
	for i := range mostThreads + 1 {
		r.Put(Log{Thread: fmt.Sprint(i), Entries: logOf(memory.Due{})})
	}
	oldest, next := r.Take("0").Entries, r.Take("1").Entries
	if oldest != nil || next == nil {
		t.Errorf("the oldest has %d entries, the next one %d", len(oldest), len(next))
	}
	long := func(bytes int) []memory.Entry {
		return logOf(memory.Step{Answer: strings.Repeat("x", bytes)})
	}
	r.Put(Log{Thread: "long", Entries: long(mostBytes - 1000)})
	r.Put(Log{Thread: "short", Entries: long(10)})
	if len(r.logs) > 4 || r.size > mostBytes {
		t.Errorf("%d bytes of %d threads", r.size, len(r.logs))
	}
	r.Put(Log{Thread: "too long", Entries: long(mostBytes + 1)})
	if r.Take("too long").Entries != nil {
		t.Error("a log of more bytes than there may be in all is remembered")
	}
	if r.Take("short").Entries == nil {
		t.Error("the log that is too long took the place of one that fits")
	}
}

// The value computed from a log comes back with it, counts in its size, and goes with
// it.
func TestLogsKeep(t *testing.T) {
	r := &Logs{}
	whole, cut := logOf(memory.Due{}, memory.Due{}), logOf(memory.Due{}, memory.Trimmed{Before: 2})
	r.Put(Log{Thread: "a", Entries: whole})
	bare := r.size
	r.Put(Log{Thread: "a", Entries: whole, Kept: "made"})
	if r.size != bare+2*memory.BareKept {
		t.Errorf("%d bytes, and %d with what was made of it", bare, r.size)
	}
	r.Put(Log{Thread: "b", Entries: cut, Kept: "made"})
	for thread, want := range map[string]any{"a": "made", "b": nil} {
		if kept := r.Take(thread).Kept; kept != want {
			t.Errorf("%s: %v was kept, want %v", thread, kept, want)
		}
	}
	if r.size != 0 {
		t.Errorf("%d bytes of nothing", r.size)
	}
}
