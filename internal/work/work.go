// Package work counts what a program does with a hostile text, for tests that say
// that it does no more than grows with the text's length.
//
// The idea is that work is counted and never timed: the test is built once more with
// counters in it, as for coverage, and run on each of [Hostile] texts in a process of
// its own; then the statements that it executed, and the bytes that it allocated, are
// divided by the length of the text. What grows with the square is many times over
// any bound.
package work

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Size is about how many bytes the texts have, where a bound says nothing else. What
// looks at the rest of a text at each place does 8,000 statements a byte, or copies so
// many bytes.
const Size = 16 << 10

// hopeless is for all texts together: what grows with the square would go on for
// hours.
const hopeless = 10 * time.Minute

// env names the bound and the text that a process is for, by their numbers.
const env = "NOD_TEST_WORK_ON"

// Bound is how much Do may do for a byte of a text.
type Bound struct {
	Do         func(text string)
	Size       int      // of the texts; 0 is Size
	Texts      []string // by their names; none are all
	Statements int
	Bytes      int // allocated
}

// Long skips a test of a package whose texts take minutes: make long.
func Long(t *testing.T) {
	t.Helper()
	if os.Getenv("NOD_LONG") == "" {
		t.Skip("minutes: make long")
	}
}

// Linear tests that bounds hold for any text. The statements of the covered packages
// count, named as go test takes them. Call it in a test that does nothing else, in the
// folder of its package.
func Linear(t *testing.T, covered []string, bounds ...Bound) {
	t.Helper()
	if nrs, ok := os.LookupEnv(env); ok {
		var b, text int
		if _, err := fmt.Sscan(nrs, &b, &text); err != nil {
			t.Fatal(err)
		}
		on(Hostile[text].Of(cmp.Or(bounds[b].Size, Size)), bounds[b].Do)
		return
	}
	if testing.Short() {
		t.Skip("builds itself anew, and runs it a hundred times: make test")
	}
	program := filepath.Join(t.TempDir(), "work.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-covermode=count", "-coverpkg="+strings.Join(covered, ","), "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hopeless)
	defer cancel()
	for i, b := range bounds {
		for n, text := range Hostile {
			if len(b.Texts) == 0 || slices.Contains(b.Texts, text.Name) {
				b.check(t, text, exec.CommandContext(ctx, program), fmt.Sprint(i, " ", n))
			}
		}
	}
}

// check has a program do the work on a text, and counts it.
func (b Bound) check(t *testing.T, text Text, program *exec.Cmd, nrs string) {
	t.Helper()
	counts := filepath.Join(t.TempDir(), "counts")
	program.Args = append(program.Args, "-test.run=^"+t.Name()+"$", "-test.coverprofile="+counts)
	program.Env = append(os.Environ(), env+"="+nrs)
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", text.Name, err, out)
	}
	size := len(text.Of(cmp.Or(b.Size, Size)))
	statements, bytes := statements(t, counts)/size, allocated(t, string(out))/size
	t.Logf("%s: %d statements and %d bytes a byte", text.Name, statements, bytes)
	if statements > b.Statements || bytes > b.Bytes {
		t.Errorf("%s: %d statements and %d bytes a byte, want %d and %d at most", text.Name, statements, bytes, b.Statements, b.Bytes)
	}
}

// said is what a process says how much it allocated.
const said = "bytes allocated: "

// on does the work on one text.
func on(text string, do func(text string)) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do(text)
	runtime.ReadMemStats(&after)
	fmt.Printf("\n%s%d\n", said, after.TotalAlloc-before.TotalAlloc)
}

func allocated(t *testing.T, out string) int {
	t.Helper()
	_, rest, _ := strings.Cut(out, said)
	number, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("read %q: %v", out, err)
	}
	return n
}

// statements sums up a profile of coverage: lines "file:from,to statements count".
func statements(t *testing.T, profile string) (sum int) {
	t.Helper()
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // the mode
		}
		n, err := strconv.Atoi(fields[1])
		count, err2 := strconv.Atoi(fields[2])
		if err != nil || err2 != nil {
			t.Fatalf("read %q", lines.Text())
		}
		sum += n * count
	}
	if sum == 0 {
		t.Fatal("nothing was counted")
	}
	return sum
}
