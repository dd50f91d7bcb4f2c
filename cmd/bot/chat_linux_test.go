package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// screenOf gives a terminal of 80 columns, and what is to be seen and typed at it.
func screenOf(t *testing.T) (seen *os.File, tty *os.File) {
	t.Helper()
	seen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { _ = seen.Close() })
	fd := int(seen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	for _, err := range []error{err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return seen, tty
}

// A log line while somebody sits at the terminal is a line of its own, and no part of
// the typed text.
func TestChatLogsAside(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer model.Close()
	file := filepath.Join(t.TempDir(), "nod.yaml")
	if err := os.WriteFile(file, []byte("store: sqlite:nod.db\nllm: {base_url: "+model.URL+", model: m}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen, tty := screenOf(t)
	out := &buffer{}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := seen.Read(b)
			if err != nil {
				return
			}
			_, _ = out.Write(b[:n])
		}
	}()
	env := Env{In: tty, Out: tty, Err: tty, Getenv: func(name string) (string, bool) { return "xterm", name == "TERM" }}
	done := make(chan int, 1)
	go func() { done <- Main(t.Context(), []string{"chat", "--config", file}, env) }()
	eventually(t, "it is ready", func() bool { return strings.Contains(out.String(), "> ") })
	_, _ = seen.WriteString("hello\r")
	eventually(t, "the turn ends", func() bool { return strings.Contains(out.String(), "Whoever runs me") })
	_, _ = seen.WriteString("\x04")
	if code := <-done; code != 0 {
		t.Errorf("exit status %d", code)
	}
	escapes := regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
	logged := false
	for line := range strings.SplitSeq(escapes.ReplaceAllString(out.String(), ""), "\n") {
		line = line[strings.LastIndex(strings.TrimRight(line, "\r"), "\r")+1:]
		logged = logged || strings.HasPrefix(line, `{"time":`)
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\r")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !logged {
		t.Errorf("no line begins with what is logged:\n%q", out.String())
	}
}
