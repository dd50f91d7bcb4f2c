package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// stub is how the prompt names an artifact.
var stub = regexp.MustCompile(`\[artifact (\S+),`)

// reader is a model that has a lot written and then looks for a needle in it.
func reader(req fakellm.Request) fakellm.Reply {
	text := req.Last().Text()
	switch {
	case req.Last().Role != "tool":
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "flood", Args: `{}`}}}
	case stub.MatchString(text):
		name := stub.FindStringSubmatch(text)[1]
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "details", Args: fmt.Sprintf(`{"artifact":%q,"query":"needle"}`, name)}}}
	}
	return fakellm.Reply{Text: "Found: " + text}
}

// Five megabytes of output do not reach the prompt nor fill the memory: the model
// gets the beginning and a stub, and finds the line with details.
func TestFloodOfOutput(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, reader, setup{tools: `
    - name: flood
      description: Write a lot.
      argv: [sh, -c, "yes 'nothing to see here' | head -c 3500000; echo; echo 'the needle is 4711'; yes 'nor here' | head -c 1500000"]
      risk: auto
      read_only: true
`})
	p := n.spawn()
	defer p.kill()
	n.ready()
	before := peak(t, p.cmd.Process.Pid)
	at := w.mention("ada", "look for it")
	n.find(at, "Found:", "the needle is 4711")
	for _, req := range n.llm.Requests() {
		if size := len(req.Whole()); size > 64<<10 {
			t.Errorf("a prompt has %d bytes", size)
		}
	}
	grown := peak(t, p.cmd.Process.Pid) - before
	t.Logf("grown by %d KiB", grown)
	if grown > 256<<10 {
		t.Errorf("5 MB of output made the process grow by %d KiB", grown)
	}
	if files := n.files(at); len(files) != 0 {
		t.Errorf("%d files were posted, though nobody asked for one", len(files))
	}
}

// Tables of two megabytes, attached in four threads at once, hold up nobody else's
// question and take little memory.
func TestFloodOfTables(t *testing.T) {
	t.Parallel()
	const threads = 4
	answered := make(chan struct{})
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, func(req fakellm.Request) fakellm.Reply {
		switch {
		case !strings.Contains(req.Whole(), "big.csv"):
			return fakellm.Reply{Text: "Good morning"}
		case req.Last().Role != "tool":
			return fakellm.Reply{Calls: []fakellm.Call{{Name: "details", Args: `{"artifact":"big.csv"}`}}}
		}
		<-answered
		return fakellm.Reply{Text: "Found: " + req.Last().Text()}
	}, setup{})
	p := n.spawn()
	defer p.kill()
	n.ready()
	before := peak(t, p.cmd.Process.Pid)
	table := "day,close\n" + strings.Repeat("1,10\n", 2<<20/5-2)
	var flood []place
	for range threads {
		flood = append(flood, w.attach("ada", "what is in it?", "big.csv", table))
	}
	n.find(w.mention("bob", "hello"), "Good morning")
	close(answered)
	for _, at := range flood {
		n.find(at, "Found:", "close")
	}
	grown := peak(t, p.cmd.Process.Pid) - before
	t.Logf("grown by %d KiB", grown)
	if most := 256 << 10; grown > most {
		t.Errorf("%d tables of 2 MB made the process grow by %d KiB, want %d", threads, grown, most)
	}
}

// peak is the most memory that a process had resident so far, in KiB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	return kib(t, pid, "VmHWM")
}

// kib is what the kernel says of a process's memory (proc_pid_status(5)), in KiB.
func kib(t *testing.T, pid int, what string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, what+":"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("the kernel does not say %s", what)
	return 0
}
