package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"nod/cmd/bot/config"
)

// Of a process it is known that it ended only where it ran here, under its own name.
func TestProcessEnded(t *testing.T) {
	t.Parallel()
	me := thisProcess()
	if me == "" || processEnded(me) {
		t.Errorf("this process is %q, and ended: %t", me, processEnded(me))
	}
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	space, err := processSpace()
	if err != nil {
		t.Fatal(err)
	}
	began, _, err := processStat(other.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s %d %s", space, other.Process.Pid, began)
	if processEnded(name) {
		t.Error("a process that runs is said to have ended")
	}
	if !processEnded(name + "0") {
		t.Error("a process whose id another has now is not said to have ended")
	}
	_ = other.Process.Kill()
	eventually(t, "the process that was killed has ended, though nobody asked after it", func() bool { return processEnded(name) })
	_ = other.Wait()
	if !processEnded(name) {
		t.Error("a process that is gone is not said to have ended")
	}
	for _, unknown := range []string{"", "x", strings.Replace(name, "-", "_", 1), space, space + " x 1", space + " -1 1", space + " 0 1"} {
		if processEnded(unknown) {
			t.Errorf("%q is said to have ended", unknown)
		}
	}
}

// SQLite's file is of one process at a time, so whoever had it before has ended.
func TestEndedByStore(t *testing.T) {
	t.Parallel()
	for kind, want := range map[config.StoreKind]bool{config.SQLite: true, config.Redis: false} {
		p := &program{cfg: &config.Config{Store: config.Store{Kind: kind}}}
		if got := p.ended("of another machine"); got != want {
			t.Errorf("with %s: %t", kind, got)
		}
	}
}
