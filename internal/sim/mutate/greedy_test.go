//go:build !race

// The race detector takes more address space than a mutant may have.

package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("NOD_MUTANT") == "greedy" {
		for held := [][]byte{}; ; {
			held = append(held, make([]byte, 64<<20))
		}
	}
	os.Exit(m.Run())
}

// A mutant that never has enough memory ends, and counts as noticed.
func TestGreedyMutant(t *testing.T) {
	t.Setenv("NOD_MUTANT", "greedy")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, ranAway, err := bounded(self); err == nil || ranAway != "it takes all memory" {
		t.Errorf("it ran away by %q, with %v\n%s", ranAway, err, out)
	}
}
