package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// What of the program's file is in memory goes, and the program goes on.
func TestDropPages(t *testing.T) {
	before := kib(t, os.Getpid(), "RssFile")
	gone, err := dropPages()
	if err != nil {
		t.Fatal(err)
	}
	if after := kib(t, os.Getpid(), "RssFile"); after >= before || gone < before/2 {
		t.Errorf("%d KiB of files are in memory, %d before, of which %d went", after, before, gone)
	}
}

// Only what is mapped from the program's file and cannot be written to is a span.
func TestSpanOf(t *testing.T) {
	for line, want := range map[string]span{
		"00400000-019e1000 r-xp 00000000 fe:00 1234                               /opt/my bot": {0x400000, 0x19e1000},
		"00400000-019e1000 rw-p 00000000 fe:00 1234                               /opt/my bot": {},
		"00400000-019e1000 r-xp 00000000 fe:00 1234                               /opt/other":  {},
		"7f0000000000-7f0000001000 r--p 00000000 00:00 0 ":                                     {},
		"x-y r-xp 00000000 fe:00 1234                                             /opt/my bot": {},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]":  {},
	} {
		if got := spanOf(strings.Fields(line), "/opt/my bot"); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

// A program that has come to rest gives back the pages of its file, and answers as
// before; also what a single answer needed is given back. How many of them come back at
// once depends on the system's cache, so the program is asked and not the system.
func TestPagesAtRest(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, func(fakellm.Request) fakellm.Reply { return fakellm.Reply{Text: "at your service"} }, setup{})
	p := n.spawn("--log-level", "debug")
	defer p.kill()
	n.ready()
	given := func() (n, kib int) {
		lines := regexp.MustCompile(`"memory given back","file_kib":(\d+)`).FindAllStringSubmatch(p.out.String(), -1)
		if len(lines) > 0 {
			kib, _ = strconv.Atoi(lines[len(lines)-1][1])
		}
		return len(lines), kib
	}
	again := func(than int) func() bool {
		return func() bool { times, kib := given(); return times > than && kib > 1<<10 }
	}
	eventually(t, "the pages of the start are given back", again(0))
	n.find(w.mention("ada", "hello"), "at your service")
	times, _ := given()
	eventually(t, "the pages of an answer are given back", again(times))
	n.find(w.mention("ada", "hello again"), "at your service")
}
