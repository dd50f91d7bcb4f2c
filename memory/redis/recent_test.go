package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
	"nod/memory/redis"
)

// A claim gives the same log after any other holder, and with any state of this
// process's cache.
func TestRecentLog(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	open := func() *redis.Store {
		s, err := redis.Open(t.Context(), srv.URL(), redis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	one, two := open(), open()
	thread := chat.ThreadID{Platform: "p", Channel: "c", Root: "1"}
	var want []uint64
	seq := uint64(0)
	turn := func(s *redis.Store, bodies ...memory.Body) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Put(ctx, thread, memory.Halt{}, time.Now().String()); err != nil {
			t.Fatal(err)
		}
		run, err := s.Next(ctx, "p")
		if err != nil {
			t.Fatal(err)
		}
		seq++
		want = append(want, seq)
		if diff := cmp.Diff(want, seqs(run.Log)); diff != "" {
			t.Errorf("claimed (-want +got):\n%s", diff)
		}
		if _, err := s.Commit(ctx, run, bodies...); err != nil {
			t.Fatal(err)
		}
		for range bodies {
			seq++
			want = append(want, seq)
		}
		if more, err := s.Finish(ctx, run, time.Time{}); more || err != nil {
			t.Fatalf("finish: %v, %v", more, err)
		}
	}
	turn(one, memory.Seen{Message: 1})
	turn(one, memory.Seen{Message: 2})
	turn(two, memory.Seen{Message: 3})
	turn(one, memory.Seen{Message: 4})
	turn(one, memory.Trimmed{Before: 5})
	want = want[4:]
	turn(one, memory.Seen{Message: 6})
	turn(one, memory.Forgot{Before: seq + 1})
	want = want[len(want)-2:]
	turn(one, memory.Seen{Message: 7})
	if err := srv.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	want, seq = nil, 0
	for range 12 {
		turn(one, memory.Seen{Message: 8})
	}
}

func seqs(log []memory.Entry) []uint64 {
	var out []uint64
	for _, e := range log {
		out = append(out, e.Seq)
	}
	return out
}
