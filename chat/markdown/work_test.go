package markdown

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pathological are texts that cost parsers of Markdown their square, or worse, of
// about so many bytes.
var pathological = []struct {
	name string
	text func(size int) string
}{
	{"nested list", func(size int) string {
		var out strings.Builder
		for depth := 0; out.Len() < size; depth++ {
			out.WriteString(strings.Repeat("  ", depth) + "- a\n")
		}
		return out.String()
	}},
	{"lists nested as deep as may be", func(size int) string {
		var one strings.Builder
		for depth := range maxNesting {
			one.WriteString(strings.Repeat("  ", depth) + "- a\n")
		}
		return repeat(one.String(), size)
	}},
	{"quotes", func(size int) string { return repeat(">a\n", size) }},
	{"nested quotes", func(size int) string { return repeat(strings.Repeat("> ", maxNesting)+"a\n", size) }},
	{"many quotes in a line", func(size int) string { return repeat(">", size) }},
	{"brackets", func(size int) string { return repeat("[", size/2) + "a" + repeat("]", size/2) }},
	{"open links", func(size int) string { return repeat("[a](", size) }},
	{"open pictures", func(size int) string { return repeat("![", size) }},
	{"references", func(size int) string { return "[a]: b\n\n" + repeat("[a][", size) }},
	{"definitions", func(size int) string { return repeat("[a]: b\n", size) }},
	{"open definitions", func(size int) string { return repeat("[a]: b 'c\n", size) }},
	{"backticks", func(size int) string { return repeat("`", size) }},
	{"rows of backticks", func(size int) string {
		var out strings.Builder
		for n := 1; out.Len() < size; n++ {
			out.WriteString(strings.Repeat("`", n) + " ")
		}
		return out.String()
	}},
	{"asterisks", func(size int) string { return repeat("*", size) }},
	{"open emphasis", func(size int) string { return repeat("*a _b ", size) }},
	{"crossed emphasis", func(size int) string { return repeat("a**b*c_ ", size) }},
	{"tildes", func(size int) string { return repeat("~a ~~b", size) }},
	{"pipes", func(size int) string { return repeat("|", size) }},
	{"rows", func(size int) string { return repeat("|a|b|\n|-|-|\n", size) }},
	{"a table of one row after the other", func(size int) string { return "|a|b|\n|-|-|\n" + repeat("|c|d|\n", size) }},
	{"a wide table of short rows", func(size int) string {
		return strings.Repeat("|a", 200) + "|\n" + strings.Repeat("|-", 200) + "|\n" + repeat("|a\n", size)
	}},
	{"tags", func(size int) string { return repeat("<a ", size) }},
	{"comments", func(size int) string { return repeat("a <!-- ", size) }},
	{"instructions", func(size int) string { return repeat("a <? ", size) }},
	{"addresses", func(size int) string { return repeat("<http:", size) }},
	{"ampersands", func(size int) string { return repeat("&", size) }},
	{"items", func(size int) string { return repeat("1. a\n", size) }},
	{"empty items", func(size int) string { return repeat("-\n\n", size) }},
	{"a paragraph of lines", func(size int) string { return repeat("a\n", size) + "===" }},
	{"fences in quotes", func(size int) string { return repeat("> ```\n", size) }},
	{"words", func(size int) string { return repeat("a few words. ", size) }},
}

func repeat(text string, size int) string { return strings.Repeat(text, size/len(text)+1) }

// mostWork is how many statements, of this package and of the parser, may be executed
// for a byte of a text by all that the platforms do with it. workSize is how long the
// texts are.
const (
	workSize = 100 << 10
	mostWork = 3000
	hopeless = 10 * time.Minute // of all together: what grows with the square would go on for hours
)

const workEnv = "NOD_TEST_MARKDOWN_WORK"

// TestWorkOf is the work on one text, for the test below.
func TestWorkOf(t *testing.T) {
	nr, ok := os.LookupEnv(workEnv)
	if !ok {
		t.Skip("TestWork runs it")
	}
	n, err := strconv.Atoi(nr)
	if err != nil {
		t.Fatal(err)
	}
	src := pathological[n].text(workSize)
	Split(src, 2000, UTF16)
	Plain(src)
	HTML(src)
	Redraw(src, func(Block) (string, bool) { return "x", true })
	Styled(src, Style{Escape: strings.ToUpper, Strong: "*", Emph: "_", Strike: "~", Code: "`", Fence: "```"})
	Outside(src, strings.ToUpper, strings.ToUpper)
	Bare(src)
}

// Work is linear in the length of a text, whatever stands in it. It is counted, in
// statements that are executed, and not timed.
func TestWork(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "work.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-covermode=count", "-coverpkg=nod/chat/markdown,github.com/yuin/goldmark/...", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hopeless)
	defer cancel()
	for n, p := range pathological {
		counts := filepath.Join(t.TempDir(), "counts")
		run := exec.CommandContext(ctx, program, "-test.run=^TestWorkOf$", "-test.coverprofile="+counts)
		run.Env = append(os.Environ(), fmt.Sprintf("%s=%d", workEnv, n))
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", p.name, err, out)
		}
		each := statements(t, counts) / len(p.text(workSize))
		t.Logf("%s: %d statements a byte", p.name, each)
		if each > mostWork {
			t.Errorf("%s: %d statements a byte, want %d at most", p.name, each, mostWork)
		}
	}
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
