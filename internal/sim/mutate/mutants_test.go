package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every mutant still has its place in the sources, and one alone.
func TestMutantsFit(t *testing.T) {
	for _, m := range mutants {
		src, err := os.ReadFile(filepath.Join("..", "..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(src), m.old); n != 1 {
			t.Errorf("%s: %s holds it %d times:\n%s", m.name, m.file, n, m.old)
		}
	}
}

// Other rules have twenty times as long as the one for which a mistake was planted.
func TestLater(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]int{
		"0 turns in 1 episodes: something":      20,
		"22 turns in 3 episodes: something":     440,
		"19584 turns in 90 episodes: something": 1500,
		"a panic":                               20,
	} {
		if got := later(what); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
}
