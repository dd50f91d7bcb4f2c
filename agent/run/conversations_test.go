package run_test

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"nod/internal/script"
	"nod/memory"
	"nod/memory/sqlite"
)

var update = flag.Bool("update", false, "rewrite what the conversations want")

// Every conversation in testdata shows people what it wants to. They are
// played on a file; that Redis keeps the same log is for the contract suite.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			script.Play(t, f, openFile, *update)
		})
	}
}

func openFile(ctx context.Context, dir string) (memory.Full, error) {
	return sqlite.Open(ctx, filepath.Join(dir, "nod.db"), sqlite.Options{})
}
