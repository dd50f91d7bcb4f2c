package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fragments are pieces of markup. A random string of them gives far more odd structures
// than random bytes do.
var fragments = []string{
	"\n", "\n\n", "`", "```", "~~~", "````go\n", "\n```\n", "> ", "- ", "1. ", "+ ", "  ", "    ", "\t",
	"| a | b |\n|---|---|\n", "|", "# ", "***", "===", "---\n", "_", "*", "\\", "[a]: b", "[x](y)", "<b>", "<!--",
	"word ", "w w w w w ", "a", "b", "é", "👩‍👩‍👧‍👦", "\x00", "\xff", "\r\n", "\u00a0",
}

func drawText(t *rapid.T) string {
	var out strings.Builder
	for range rapid.IntRange(1, 150).Draw(t, "fragments") {
		times := 1
		if rapid.IntRange(0, 19).Draw(t, "repeated") == 0 {
			times = rapid.IntRange(1, 90).Draw(t, "times")
		}
		out.WriteString(strings.Repeat(rapid.SampledFrom(fragments).Draw(t, "fragment"), times))
	}
	return out.String()
}

func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawText(t)
		limit := rapid.IntRange(Least, 3*Least).Draw(t, "limit")
		if err := sound(strings.ToValidUTF8(src, "\uFFFD"), Split(src, limit, UTF16), limit, UTF16); err != nil {
			t.Fatal(err)
		}
		if parts := Split(src, 1<<30, Bytes); len(parts) > 1 {
			t.Fatalf("%d parts without a limit", len(parts))
		}
	})
}

func TestBlocksProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawText(t)
		end := 0
		for _, b := range Blocks(src) {
			if b.Start < end || b.End < b.Start {
				t.Fatalf("block from %d to %d after %d", b.Start, b.End, end)
			}
			if gap := src[end:b.Start]; strings.Trim(gap, " \t\r\n") != "" {
				t.Fatalf("not in any block: %q", gap)
			}
			end = b.End
		}
		if gap := src[end:]; strings.Trim(gap, " \t\r\n") != "" {
			t.Fatalf("not in any block: %q", gap)
		}
		if got := Redraw(src, func(Block) (string, bool) { return "", true }); missing(got, src) != "" {
			t.Fatalf("Redraw made something up: %q", missing(got, src))
		}
		Plain(src)
	})
}
