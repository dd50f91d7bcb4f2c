package markdown

import (
	"fmt"
	"strings"
	"testing"
)

// answer is like a long answer of a model's: text, a list, code and a table.
func answer(sections int) string {
	var out strings.Builder
	for i := range sections {
		fmt.Fprintf(&out, "## Section %d\n\n%s\n\n- %s\n- [link](http://x)\n\n", i, words(80), words(20))
		fmt.Fprintf(&out, "```go\n%s```\n\n| a | b |\n|---|---|\n%s\n", lines(20, "line %d()"), lines(10, "| %d | x |"))
	}
	return out.String()
}

func BenchmarkSplit(b *testing.B) {
	for _, sections := range []int{1, 10, 100, 1000} {
		src := answer(sections)
		b.Run(fmt.Sprintf("%dKB", len(src)/1000), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				Split(src, 2000, UTF16)
			}
		})
	}
}

// BenchmarkHostile shows that no text takes long for its size.
func BenchmarkHostile(b *testing.B) {
	for i, src := range hostile {
		b.Run(fmt.Sprintf("%.12q", fmt.Sprint(i, " ", src)), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				Split(src, 2000, UTF16)
				Plain(src)
			}
		})
	}
}
