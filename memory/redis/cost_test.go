package redis

import (
	"fmt"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
)

// A line of the audit log costs the server at most 400 bytes over what it holds, with
// its part of the index and the end of its chain: also where each thread has one line.
func TestAuditLineCosts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	const threads = 500
	for i := range threads {
		th := chat.ThreadID{Platform: "slack", Channel: fmt.Sprintf("T0TEAM:C0%04d", i%20), Root: fmt.Sprintf("1795614447.%06d", i)}
		if _, err := s.Put(within(t), th, text("go")); err != nil {
			t.Fatal(err)
		}
		run, err := s.Next(within(t), "slack")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Finish(within(t), run, time.Time{}, memory.Started{Call: "1-1-1", Tool: "deploy", Digest: fmt.Sprintf("%064d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	held, lines := 0, 0
	for k, err := range s.Lines(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		held += len(k.Raw) + len(k.Text)
		lines++
	}
	used := int64(0)
	c := server.Client(t)
	for shard := range shards {
		for _, key := range []string{"audit", "heads", "people"} {
			n, err := c.MemoryUsage(within(t), s.keys.own(shard, key), 0).Result()
			if err != nil && n != 0 {
				t.Fatal(err)
			}
			used += n
		}
	}
	if over := (int(used) - held) / lines; lines != threads || over > 400 {
		t.Errorf("%d lines hold %d bytes each and cost %d more, want at most 400", lines, held/lines, over)
	} else {
		t.Logf("%d lines hold %d bytes each and cost %d more", lines, held/lines, over)
	}
}
