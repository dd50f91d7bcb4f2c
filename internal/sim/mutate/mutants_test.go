package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every mutant still has its place in the sources.
func TestMutantsFit(t *testing.T) {
	for _, m := range mutants {
		src, err := os.ReadFile(filepath.Join("..", "..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(src), m.old) {
			t.Errorf("%s: %s does not hold it any more:\n%s", m.name, m.file, m.old)
		}
	}
}
