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
