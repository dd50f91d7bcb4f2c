// Command mutate shows that the simulation notices broken rules: it takes
// conditions out of the engine, of the model of the store and of what adapters
// do, one at a time, and plays episodes until a guarantee breaks. What people may do
// with a call is taken away likewise, for the property test of that. A mutant that lives
// is a failure.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() { os.Exit(run()) }

func run() int {
	turns := flag.Int("turns", 100_000, "within how many turns each has to be noticed")
	only := flag.String("only", "", "those with one of these, parted by commas, in their name")
	flag.Parse()
	dir, err := os.MkdirTemp("", "nod-mutants-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer func() { _ = os.RemoveAll(dir) }()
	lived, n := 0, 0
	for _, m := range mutants {
		if !slices.ContainsFunc(strings.Split(*only, ","), func(part string) bool { return strings.Contains(m.name, part) }) {
			continue
		}
		n++
		what, ok := m.play(dir, *turns)
		if !ok {
			lived++
		}
		fmt.Printf("%-7s %-58s %s\n", map[bool]string{true: "noticed", false: "LIVES"}[ok], m.name, what)
	}
	fmt.Printf("%d of %d noticed\n", n-lived, n)
	if lived > 0 {
		return 1
	}
	return 0
}

// play builds the simulation with the mutant in it and runs it.
func (m mutant) play(dir string, turns int) (what string, noticed bool) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return err.Error(), false
	}
	if strings.Count(string(src), m.old) == 0 {
		return "stale: " + m.file + " does not hold it any more", false
	}
	patched, overlay := filepath.Join(dir, "patched.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(patched, []byte(strings.Replace(string(src), m.old, m.new, 1)), 0o600); err != nil {
		return err.Error(), false
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return err.Error(), false
	}
	raw, err := json.Marshal(map[string]map[string]string{"Replace": {file: patched}})
	if err != nil {
		return err.Error(), false
	}
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		return err.Error(), false
	}
	bin := filepath.Join(dir, "simulate")
	build := []string{"build", "-overlay", overlay, "-o", bin, "./internal/sim/simulate"}
	test := strings.HasPrefix(m.rule, "Test")
	if test {
		build = []string{"test", "-c", "-overlay", overlay, "-o", bin, "./agent"}
	}
	if out, err := exec.Command("go", build...).CombinedOutput(); err != nil { //nolint:gosec // the patch is ours
		return "does not build: " + string(out), false
	}
	if test {
		return property(bin, m.rule, turns)
	}
	what, noticed = simulate(bin, turns, "")
	if m.rule == "" || !noticed {
		return what, noticed
	}
	if !strings.Contains(what, m.rule) {
		return "by another rule: " + what, false
	}
	if also, noticed := simulate(bin, min(turns, later(what)), m.rule); noticed {
		return "by another rule too: " + also, false
	}
	return "alone by: " + what, true
}

// property plays sequences of a property test until one breaks it.
func property(bin, test string, sequences int) (what string, noticed bool) {
	out, ranAway, err := bounded(bin, "-test.run", "^"+test+"$", "-test.timeout", "30m",
		"-rapid.checks", strconv.Itoa(sequences), "-rapid.seed", "1", "-rapid.nofailfile", "-rapid.shrinktime", "1s")
	switch {
	case err == nil:
		return fmt.Sprintf("not within %d sequences", sequences), false
	case ranAway != "":
		return ranAway, true
	}
	for line := range strings.Lines(string(out)) {
		if _, failed, ok := strings.Cut(line, "[rapid] "); ok && strings.HasPrefix(failed, "failed") {
			return strings.TrimSpace(failed), true
		}
	}
	if bytes.Contains(out, []byte("--- FAIL: "+test)) { // no property, but cases
		return "fails", true
	}
	return "fails otherwise: " + string(out), false
}

// later is within how many turns no other rule may find what was planted for one: far
// more than that one took. What it finds at once has consequences that others find in
// the end.
func later(what string) int {
	var took int
	_, _ = fmt.Sscanf(what, "%d turns", &took) // 0 else
	return min(max(20, 20*took), 1500)
}

// patience is for a mutant that never comes to an end: seconds of the processor's
// time, so that a machine with other work does not cut an honest run short. A
// hundred thousand turns take some two minutes.
const patience = 600

// room is what a mutant may take that never has enough: KiB of address space, of
// which one that is well takes a third.
const room = 6_000_000

// bounded runs a mutant; ranAway says which of its bounds ended it.
func bounded(bin string, args ...string) (out []byte, ranAway string, err error) {
	limits := fmt.Sprintf(`ulimit -t %d && ulimit -v %d && exec "$0" "$@"`, patience, room)
	cmd := exec.Command("sh", append([]string{"-c", limits, bin}, args...)...) //nolint:gosec // built above
	out, err = cmd.CombinedOutput()
	w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && w.Signaled():
		ranAway = "it goes round for ever"
	case err != nil && (bytes.Contains(out, []byte("out of memory")) || bytes.Contains(out, []byte("cannot allocate memory"))):
		ranAway = "it takes all memory"
	}
	return out, ranAway, err
}

// simulate runs a mutant, without one of the rules.
func simulate(bin string, turns int, without string) (what string, noticed bool) {
	out, ranAway, err := bounded(bin, "-small=false", "-turns", strconv.Itoa(turns), "-without", without)
	if ranAway != "" {
		return ranAway, true
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err == nil {
		return lines[0], false
	}
	after, _, _ := strings.Cut(lines[0], ",")
	if len(lines) < 3 {
		return string(out), true
	}
	return after + ": " + lines[2], true
}
