package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nod/memory"
)

// A process that is killed while many write to it keeps everything that it had
// said yes to, whole and once, and the next one goes on at once.
func TestKilled(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("WRITES"); path != "" {
		writeForEver(t, path)
	}
	path := filepath.Join(t.TempDir(), "nod.db")
	said := map[string]bool{}
	for range 3 {
		for _, event := range killed(t, path) {
			said[event] = true
		}
	}
	s := mustOpen(t, path, Options{})
	found := map[string]int{}
	for i := range 8 {
		log, err := s.Read(t.Context(), onBoard(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log {
			switch b := e.Body.(type) {
			case memory.Message:
				found["put "+b.Text]++
			case memory.Started:
				found["commit "+b.Call]++
			default:
				t.Errorf("%#v is in the log", b)
			}
		}
	}
	for event := range said {
		if found[event] != 1 {
			t.Errorf("%s was said to be done, and is there %d times", event, found[event])
		}
	}
	for event, n := range found {
		if n > 1 {
			t.Errorf("%s is there %d times", event, n)
		}
	}
	if len(said) < 300 {
		t.Errorf("only %d writes were seen", len(said))
	}
	mustPut(t, s, "9", message("m", "hi"))
}

// killed runs a process until it has said yes to some writes, kills it, and gives
// them.
func killed(t *testing.T, path string) (said []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$") //nolint:gosec // this very test
	cmd.Env = append(os.Environ(), "WRITES="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, strings.TrimSpace(lines.Text()))
		if len(said) == 150 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	if n := len(said); n > 0 && !strings.Contains(said[n-1], ".") {
		said = said[:n-1] // a line that was cut off
	}
	return said
}

// writeForEver puts and commits, and prints each write that is done. The names end
// with a dot, so that a line that is cut off is known.
func writeForEver(t *testing.T, path string) {
	s := mustOpen(t, path, Options{})
	var mu sync.Mutex
	done := func(what, name string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%s %s\n", what, name)
	}
	for g := range 8 {
		go func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%s-%d-%d.", s.Self(), g, i)
				if _, err := s.Put(context.Background(), onBoard(fmt.Sprint(g)), message("m"+name, name), name); err == nil {
					done("put", name)
				}
			}
		}()
		go func() {
			for i := 0; ; i++ {
				run, err := s.Next(context.Background(), "board")
				if err != nil {
					continue
				}
				name := fmt.Sprintf("%s-%d-%d.", run.Token, g, i)
				if _, err := s.Commit(context.Background(), run, memory.Started{Call: name}); err == nil {
					done("commit", name)
				}
				_ = s.Handoff(context.Background(), run)
			}
		}()
	}
	select {}
}
