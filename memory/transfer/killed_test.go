package transfer_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/memory"
	"nod/memory/sqlite"
	"nod/memory/transfer"
)

// stuck says of its first call that it was done, and then waits to be killed.
type stuck struct{ memory.Portable }

// Restore implements memory.Portable.
func (p stuck) Restore(ctx context.Context, records []memory.Record) error {
	fmt.Println("restored", p.Portable.Restore(ctx, records))
	select {}
}

// A copy whose process is killed twice on the way is whole in the end.
func TestCopyIsKilled(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("COPY_TO"); path != "" {
		copyFiles(t, os.Getenv("COPY_FROM"), path, func(p memory.Portable) memory.Portable { return stuck{p} })
		return
	}
	const n = 60
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.db"), filepath.Join(dir, "to.db")
	s := must[memory.Full](t)(sqlite.Open(t.Context(), from, sqlite.Options{}))
	fill(t, s, n)
	want := seen(t, s, n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		killCopy(t, from, to)
	}
	copyFiles(t, from, to, func(p memory.Portable) memory.Portable { return p })
	c := must[memory.Full](t)(sqlite.Open(t.Context(), to, sqlite.Options{}))
	defer func() { _ = c.Close() }()
	if diff := cmp.Diff(want, seen(t, c, n)); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
	goesOn(t, c, n)
}

func copyFiles(t *testing.T, from, to string, target func(memory.Portable) memory.Portable) {
	t.Helper()
	f, d := must[memory.Portable](t)(sqlite.Portable(t.Context(), from)), must[memory.Portable](t)(sqlite.Portable(t.Context(), to))
	defer func() { _ = f.Close(); _ = d.Close() }()
	must[transfer.Counts](t)(transfer.Copy{From: f, To: target(d), FromName: "from", ToName: "to"}.Run(t.Context()))
}

// killCopy kills a copy after its first call of Restore.
func killCopy(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestCopyIsKilled$") //nolint:gosec // this very test
	cmd.Env = append(os.Environ(), "COPY_FROM="+from, "COPY_TO="+to)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "restored <nil>" {
		t.Errorf("the copy said %q", lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	_ = cmd.Wait() // killed
}
