package transfer_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"nod/memory"
	"nod/memory/transfer"
)

// stuck says of one call that it was done, and then waits to be killed.
type stuck struct {
	memory.Portable
	left int
}

// Restore implements memory.Portable.
func (p *stuck) Restore(ctx context.Context, records []memory.Record) error {
	err := p.Portable.Restore(ctx, records)
	if p.left--; p.left == 0 {
		fmt.Println("restored", err)
		select {}
	}
	return err
}

// A copy whose process is killed twice on the way is whole in the end: 10,000 threads
// with NOD_LONG=1.
func TestCopyIsKilled(t *testing.T) {
	t.Parallel()
	n, calls := 60, 1
	if os.Getenv("NOD_LONG") != "" {
		n, calls = 10000, 150
	}
	if to := os.Getenv("COPY_TO"); to != "" {
		_, _ = copyOnce(t, place{name: os.Getenv("COPY_FROM")}, place{name: to}, func(p memory.Portable) memory.Portable { return &stuck{p, calls} })
		return
	}
	for name, places := range map[string][2]place{
		"sqlite to redis": {inFile(t), onServer(t)},
		"redis to sqlite": {onServer(t), inFile(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := places[0], places[1]
			want := filled(t, from, n)
			for range 2 {
				killCopy(t, from, to)
			}
			must[transfer.Counts](t)(copyOnce(t, from, to, func(p memory.Portable) memory.Portable { return p }))
			isCopy(t, to, n, want)
		})
	}
}

// killCopy kills a copy after some calls of Restore.
func killCopy(t *testing.T, from, to place) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestCopyIsKilled$") //nolint:gosec // this very test
	cmd.Env = append(os.Environ(), "COPY_FROM="+from.name, "COPY_TO="+to.name)
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
