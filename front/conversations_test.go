package front_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"nod/internal/script"
	"nod/memory"
	"nod/memory/sqlite"
)

// A made-up platform shows people the same as the board of the conversations does, by a
// wire of its own and the front that all platforms share.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("../agent/run/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			script.PlayOnStage(t, f, newStage(), openFile)
		})
	}
}

func openFile(ctx context.Context, dir string) (memory.Full, error) {
	return sqlite.Open(ctx, filepath.Join(dir, "nod.db"), sqlite.Options{})
}
