//go:build linux

package python

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/tools"
)

// A bot that is killed takes its interpreters with it.
func TestKilledBot(t *testing.T) {
	dir := newDir(t)
	sharedPython(t) // or there is nothing to kill here
	bot := exec.CommandContext(t.Context(), os.Args[0])
	bot.Env = append(os.Environ(), "NOD_TEST_PYTHON_DIR="+dir)
	bot.Stderr = os.Stderr
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(dir, "0", "threads", folderName(thread), "work", "begun")
	for deadline := time.Now().Add(patience); ; {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Error("it never began")
			break
		}
	}
	list, _, err := below(bot.Process.Pid)
	if err != nil || len(list) != 4 { // bwrap, the sandbox's first, python, sleep
		t.Errorf("got %v, %v", list, err)
	}
	if err := bot.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = bot.Wait() // it was killed
	for deadline := time.Now().Add(patience); len(list) > 0 && time.Now().Before(deadline); {
		list = slices.DeleteFunc(list, func(q process) bool {
			now, ok := processOf(q.pid)
			return !ok || !now.running()
		})
	}
	if len(list) > 0 {
		t.Errorf("processes are left: %v", list)
	}
}

// A missing part is named with the remedy, and there is no tool.
func TestMissing(t *testing.T) {
	sharedPython(t) // or there is nothing to find out here
	off := func(name, want string, prepare func(*Options)) {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: newDir(t), Timeout: patience, Memory: 512 << 20}
			prepare(&o)
			p, err := New(t.Context(), o)
			var missing *tools.Missing
			if p != nil || !errors.As(err, &missing) {
				t.Fatalf("got %v, %v", p, err)
			}
			if !strings.HasPrefix(missing.Why, "python is off: ") || !strings.Contains(missing.Why, want) || strings.Contains(missing.Why, "\n") {
				t.Errorf("it says %q", missing.Why)
			}
		})
	}
	off("no bubblewrap", "bubblewrap is missing; apt-get install bubblewrap python3 python3-matplotlib python3-pandas", func(*Options) { t.Setenv("PATH", t.TempDir()) })
	broken := func(script string) func(*Options) {
		return func(*Options) {
			bin := t.TempDir()
			if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(bin, "bwrap"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin)
		}
	}
	off("no namespaces", "No permissions to create new namespace", broken("echo 'bwrap: No permissions to create new namespace, likely because' >&2; exit 1\n"))
	off("old bubblewrap", "bubblewrap 0.8", broken("echo 'bwrap: Unknown option --disable-userns' >&2; exit 1\n"))
	// A sandbox that is none is found out, whatever it is that is not closed.
	for _, c := range [][2]string{
		{"--seccomp|--sync-fd", "its system calls are not filtered"},
		{"--nproc=128|--nproc=4096", "it has no limit on processes"},
		{"--clearenv|--share-net", "it has a network"},
		{"/usr/libexec|/home", "it sees files of this machine"},
	} {
		from, to, _ := strings.Cut(c[0], "|")
		off(c[0], c[1], broken(`shift 2; set -- $(/usr/bin/tr "\000" "\n" <&6) "$@"; i=$#; while [ $i -gt 0 ]; do a=$1; shift; [ "$a" = "`+from+`" ] && a="`+to+`"; set -- "$@" "$a"; i=$((i-1)); done; exec /usr/bin/bwrap "$@"`+"\n"))
	}
	off("a folder that others may write to", "others may write to it", func(o *Options) {
		if err := os.Chmod(o.Dir, 0o777); err != nil {
			t.Fatal(err)
		}
	})
}
