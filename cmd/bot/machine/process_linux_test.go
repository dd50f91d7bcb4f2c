package machine

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// A process is known to have ended only if it ran here, under its own name.
func TestProcessEnded(t *testing.T) {
	t.Parallel()
	me := Process()
	if me == "" || Ended(me) {
		t.Errorf("this process is %q, and ended: %t", me, Ended(me))
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
	if Ended(name) {
		t.Error("a process that runs is said to have ended")
	}
	if !Ended(name + "0") {
		t.Error("a process whose id another has now is not said to have ended")
	}
	_ = other.Process.Kill()
	for !Ended(name) { // though nobody asked after it
		runtime.Gosched()
	}
	_ = other.Wait()
	if !Ended(name) {
		t.Error("a process that is gone is not said to have ended")
	}
	for _, unknown := range []string{"", "x", strings.Replace(name, "-", "_", 1), space, space + " x 1", space + " -1 1", space + " 0 1"} {
		if Ended(unknown) {
			t.Errorf("%q is said to have ended", unknown)
		}
	}
}
