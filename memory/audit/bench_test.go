package audit

import (
	"path/filepath"
	"testing"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

// BenchmarkAudit compares a commit with a line of the audit log, one without, and the
// line alone.
func BenchmarkAudit(b *testing.B) {
	b.Run("line", func(b *testing.B) {
		l := memory.AuditLine{Thread: chat.ThreadID{Platform: "slack", Channel: "T1/C1", Root: "1.2"}, Event: "started", Call: "1-1-1", Tool: "deploy"}
		var end memory.Head
		for b.Loop() {
			_, end, _ = end.Link(l)
		}
	})
	open := map[string]func(b *testing.B) (memory.Full, error){
		"sqlite": func(b *testing.B) (memory.Full, error) {
			return sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "nod.db"), sqlite.Options{})
		},
		"redis": func(b *testing.B) (memory.Full, error) {
			return redis.Open(b.Context(), redistest.Start(b).URL(), redis.Options{Logger: quiet})
		},
	}
	for _, store := range []string{"sqlite", "redis"} {
		for name, body := range map[string]memory.Body{"without": memory.Posted{Key: "a", Refused: "a"}, "with": memory.Result{Call: "1-1-1", Tool: "deploy"}} {
			b.Run(store+"/"+name, func(b *testing.B) { commits(b, open[store], body) })
		}
	}
}

func commits(b *testing.B, open func(*testing.B) (memory.Full, error), body memory.Body) {
	b.Helper()
	s, err := open(b)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	th := chat.ThreadID{Platform: "test", Channel: "c", Root: "1"}
	if _, err := s.Put(b.Context(), th, memory.Message{Message: chat.Message{From: ada, Text: "go"}}); err != nil {
		b.Fatal(err)
	}
	run, err := s.Next(b.Context(), "test")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Commit(b.Context(), run, body); err != nil {
			b.Fatal(err)
		}
	}
}
