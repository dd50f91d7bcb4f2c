package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process names this process among all that ever ran: by the start of the machine,
// the space of process ids, the id, and when it began. It is "" where that can't be said.
func Process() string {
	space, err := processSpace()
	if err != nil {
		return ""
	}
	began, _, err := processStat(os.Getpid())
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %s", space, os.Getpid(), began)
}

// Ended says whether a process, by the name that it gave itself, surely runs no
// more. Nothing is known of one of another machine, or of another container.
func Ended(name string) bool {
	space, err := processSpace()
	rest, here := strings.CutPrefix(name, space+" ")
	number, began, ok := strings.Cut(rest, " ")
	pid, malformed := strconv.Atoi(number)
	if err != nil || !here || !ok || malformed != nil || pid <= 0 {
		return false
	}
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true
	}
	now, over, err := processStat(pid)
	return err == nil && (over || now != began)
}

// processSpace names the namespace of process ids: see pid_namespaces(7).
func processSpace() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + " " + space, err
}

// processStat gives when a process began, in ticks since the machine was started, and
// whether it is over and only waits to be noticed: see proc_pid_stat(5).
func processStat(pid int) (began string, over bool, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false, err
	}
	_, rest, _ := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), " ") // its name may hold anything
	fields := strings.Fields(rest)
	const state, start = 0, 19
	if len(fields) <= start {
		return "", false, errors.New("no such field")
	}
	return fields[start], fields[state] == "Z" || fields[state] == "X", nil
}
