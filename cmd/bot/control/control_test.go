package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serve runs a service until the test, or stop, ends it.
func serve(t *testing.T, path, name string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	commands := map[string]Command{
		"greet": func(_ context.Context, args []string, out io.Writer) error {
			_, err := fmt.Fprintf(out, "%s greets %s\n", name, strings.Join(args, " and "))
			return err
		},
		"fail": func(_ context.Context, _ []string, out io.Writer) error {
			_, _ = io.WriteString(out, "so far\n")
			return errors.New("it\nbroke: ❌")
		},
	}
	socket, err := Listen(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- socket.Serve(ctx, commands) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.yaml.sock")
	var out bytes.Buffer
	if err := Ask(t.Context(), []string{path}, "greet", nil, &out); !errors.Is(err, ErrNobody) {
		t.Errorf("where nobody listens: %v", err)
	}
	stop := serve(t, path, "one")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	elsewhere := path + ".none"
	if err := Ask(t.Context(), []string{elsewhere, path}, "greet", []string{"ada", "ben & co"}, &out); err != nil || out.String() != "one greets ada and ben & co\n" {
		t.Errorf("asked: %q, %v", out.String(), err)
	}
	out.Reset()
	if err := Ask(t.Context(), []string{path}, "fail", nil, &out); err == nil || err.Error() != "it\nbroke: ❌" || out.String() != "so far\n" {
		t.Errorf("a command that fails: %q, %v", out.String(), err)
	}
	if err := Ask(t.Context(), []string{path}, "dance", nil, &out); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("an unknown command: %v", err)
	}
	stop()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

// A service that starts while the one before it drains has the socket, and keeps it when
// that one ends. A socket that a killed process left is no hindrance.
func TestLaterServiceHasTheSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.yaml.sock")
	first := serve(t, path, "first")
	defer serve(t, path, "second")()
	first()
	var out bytes.Buffer
	if err := Ask(t.Context(), []string{path}, "greet", []string{"ada"}, &out); err != nil || out.String() != "second greets ada\n" {
		t.Errorf("asked: %q, %v", out.String(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the socket: %v, %v", entries, err)
	}
}
